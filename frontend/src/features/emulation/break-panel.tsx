/** Breaking something on purpose: choose it in the picture or name it, see what it would cut, confirm, mend. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { api, take } from "@/api/client";
import { Button } from "@/ui/button";
import { Field, NumberInput, Select, TextInput } from "@/ui/form";
import { formatBitsPerSec, formatPercent, formatShare, plural } from "@/units";
import { type FaultKind, faultKind, kindsFor } from "../shared/fault-kinds";
import { useSettled } from "../shared/use-settled";
import { type BreakDraft, liveFaultOf, problemText } from "./break-draft";
import styles from "./emulation.module.css";
import { type Item, itemName, type Network } from "./network";
import side from "./side.module.css";

const QUIET_MS = 250;

export function BreakPanel({
  runId,
  network,
  draft,
  onDraft,
  enabled,
  onTargets,
}: {
  runId: string;
  network: Network;
  draft: BreakDraft;
  onDraft: (draft: BreakDraft) => void;
  /** The workload flows. */
  enabled: boolean;
  /** What it would strike, for the picture. */
  onTargets: (targets: readonly Item[]) => void;
}) {
  const [sent, setSent] = useState(0);
  const asked = useMemo(() => liveFaultOf(network, draft), [network, draft]);
  const settled = useSettled(asked, QUIET_MS);
  const preview = useQuery({
    queryKey: ["blast", runId, JSON.stringify(settled), sent],
    enabled: enabled && settled !== null,
    queryFn: ({ signal }) =>
      take(
        api.POST("/api/v1/runs/{id}/faults/preview", {
          params: { path: { id: runId } },
          body: settled!,
          signal,
        }),
      ),
    staleTime: 2000,
    retry: false,
  });
  const inject = useMutation({
    mutationFn: () =>
      take(api.POST("/api/v1/runs/{id}/faults", { params: { path: { id: runId } }, body: asked! })),
    onSuccess: () => {
      setSent((count) => count + 1);
      onDraft({ ...draft, target: null, words: "" });
    },
  });
  const current = settled === asked ? preview.data : undefined;
  useEffect(() => {
    const targets = (current?.targets ?? []).flatMap(({ name }) => network.byName.get(name) ?? []);
    onTargets(targets.length > 0 ? targets : draft.target ? [draft.target] : []);
  }, [current, network, draft.target, onTargets]);

  // As everywhere else in the session: what headers take is no goodput.
  const withoutHeaders = (bitsPerSec: number) =>
    formatBitsPerSec(bitsPerSec * network.frame.header_efficiency);
  const strikes = draft.target && draft.target.kind !== "flow" ? draft.target.kind : null;
  const form = faultKind(draft.kind);
  const error = inject.error ?? (settled === asked ? preview.error : null);
  return (
    <form
      className={side.break}
      aria-label="Break something"
      onSubmit={(event) => {
        event.preventDefault();
        if (asked && enabled) inject.mutate();
      }}
    >
      <Field label="What" controlWidth={190}>
        {({ id }) => (
          <TextInput
            id={id}
            value={draft.target ? itemName(network, draft.target) : draft.words}
            placeholder="click it, or 10% of switches"
            onChange={(event) => onDraft({ ...draft, target: null, words: event.target.value })}
          />
        )}
      </Field>
      <Field label="How" controlWidth={190}>
        {({ id }) => (
          <Select
            id={id}
            value={draft.kind}
            options={kindsFor(strikes).map(({ kind, title }) => ({ value: kind, label: title }))}
            onChange={(kind) => onDraft({ ...draft, kind: kind as FaultKind, amount: null })}
          />
        )}
      </Field>
      <p className={styles.doc}>{form.detail}</p>
      {form.parameter && (
        <Field label={form.parameter.label} controlWidth={140}>
          {({ id }) => (
            <NumberInput
              id={id}
              value={draft.amount}
              onChange={(amount) => onDraft({ ...draft, amount })}
              optional
              min={0}
              unit={form.parameter!.unit}
              placeholder={String(form.parameter!.otherwise)}
            />
          )}
        </Field>
      )}
      <Field label="For" controlWidth={140}>
        {({ id }) => (
          <NumberInput
            id={id}
            value={draft.lastsSecs}
            onChange={(lastsSecs) => onDraft({ ...draft, lastsSecs })}
            optional
            min={0}
            unit="s"
            placeholder="until mended"
          />
        )}
      </Field>
      <Field label="On and off every" controlWidth={140}>
        {({ id }) => (
          <NumberInput
            id={id}
            value={draft.flapSecs}
            onChange={(flapSecs) => onDraft({ ...draft, flapSecs })}
            optional
            min={0}
            unit="s"
            placeholder="no"
          />
        )}
      </Field>
      <div className={side.blast} role="status" data-testid="blast">
        {!enabled ? (
          "Faults can be injected while the traffic flows."
        ) : asked === null ? (
          "Nothing is chosen. Click a server, a switch or a link, or name it."
        ) : current ? (
          <>
            <p>
              Strikes <strong>{plural(current.targets.length, "thing")}</strong>
              {`: ${current.targets
                .slice(0, 6)
                .map(({ name }) => name)
                .join(", ")}${current.targets.length > 6 ? " …" : ""}`}
            </p>
            <p>
              {current.lost_flows > 0
                ? `${formatShare(current.lost_flows, current.flows)} flows lose every path`
                : "Every flow keeps a path"}
            </p>
            <p>
              Predicted ABT {withoutHeaders(current.abt_before_bits_per_sec)} →{" "}
              <strong>{withoutHeaders(current.abt_bits_per_sec)}</strong>
              {current.abt_before_bits_per_sec > 0 &&
                ` (${formatPercent(current.abt_bits_per_sec / current.abt_before_bits_per_sec)})`}
            </p>
            <p>
              Goodput {withoutHeaders(current.goodput_before_bits_per_sec)} →{" "}
              <strong>{withoutHeaders(current.goodput_bits_per_sec)}</strong>
            </p>
          </>
        ) : error ? null : (
          "Working out what it would cut…"
        )}
      </div>
      {error && <p className={side.message}>{problemText(error)}</p>}
      <Button
        type="submit"
        className={side.injectButton}
        disabled={!enabled || asked === null || inject.isPending || preview.isError}
      >
        {inject.isPending ? "Injecting…" : "Inject it"}
      </Button>
    </form>
  );
}
