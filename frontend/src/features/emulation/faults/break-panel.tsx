/** Injecting a fault: choose it in the picture or by name, see its predicted impact, confirm. */
import { useState } from "react";
import { Button } from "@/ui/button";
import { UnreadableInputs } from "@/ui/unreadable";
import { problemText } from "./break-draft";
import { BreakFields } from "./break-fields";
import styles from "./break-panel.module.css";
import common from "./common.module.css";
import { Impact } from "./impact";
import { type InjectionProps, useInjection } from "./use-injection";

export function BreakPanel({ runId, network, draft, onDraft, enabled, onTargets }: InjectionProps) {
  const [unreadable, setUnreadable] = useState(0);
  const { request, preview, refused, inject, error } = useInjection({
    runId,
    network,
    draft,
    onDraft,
    enabled,
    onTargets,
  });
  const blocked = !enabled || request === null || unreadable > 0;
  return (
    <form
      className={styles.break}
      aria-label="Inject a fault"
      onSubmit={(event) => {
        event.preventDefault();
        if (!blocked) inject.mutate();
      }}
    >
      <UnreadableInputs onCount={setUnreadable}>
        <BreakFields network={network} draft={draft} onDraft={onDraft} />
      </UnreadableInputs>
      <Impact
        network={network}
        enabled={enabled}
        chosen={request !== null}
        preview={preview}
        failed={error !== null}
      />
      {error && <p className={common.message}>{problemText(error)}</p>}
      <Button
        type="submit"
        data-guide="inject"
        className={styles.injectButton}
        disabled={blocked || refused || inject.isPending}
      >
        {inject.isPending ? "Injecting…" : "Inject fault"}
      </Button>
    </form>
  );
}
