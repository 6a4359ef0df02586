/** The form of an experiment, with its estimate next to it. */
import { useEffect, useRef } from "react";
import { useGuide } from "@/shared/shell/guide/guide-state";
import { Shell } from "@/shared/shell/shell";
import { UnreadableInputs } from "@/ui/unreadable";
import { plural } from "@/units";
import { ComposerFields } from "./composer-fields";
import { ComposerSide } from "./composer-side";
import type { Draft } from "./draft";
import { engineOf } from "./engine";
import { secsText } from "./estimate";
import styles from "./experiments.module.css";
import type { Taken } from "./fitting";
import { RunBar } from "./run-bar";
import { useComposer } from "./use-composer";

export function Composer({
  draft,
  change,
  taken,
  onTaken,
}: {
  draft: Draft;
  change: (draft: Draft) => void;
  /** The part chosen from a plan that is too large to be emulated. */
  taken: Taken | null;
  onTaken: (draft: Draft, taken: Taken) => void;
}) {
  const state = useComposer(draft, change, taken, onTaken);
  const fields = useRef<HTMLDivElement>(null);
  const emulated = engineOf(draft) === "emulation";
  // The guide follows the user: a user who sets up an emulation has passed the step of the
  // prediction.
  useEffect(() => useGuide.getState().reach(emulated ? "predict" : "paths"), [emulated]);
  const { estimate, error, pending } = state;
  return (
    <Shell
      status={<span>{estimate ? `${plural(estimate.points, "point")}, ${secsText(estimate)}` : ""}</span>}
    >
      <div className={styles.page}>
        <UnreadableInputs onCount={state.setUnreadable}>
          <form
            className={styles.form}
            aria-label="New experiment"
            onSubmit={(event) => {
              event.preventDefault();
              if (!state.blocked) state.run();
            }}
          >
            <ComposerFields ref={fields} draft={draft} change={state.change} state={state} />
            <RunBar draft={draft} state={state} fields={fields} change={change} />
          </form>
        </UnreadableInputs>
        <ComposerSide
          draft={draft}
          estimate={estimate}
          pending={pending}
          problem={state.problem}
          error={error}
          onRetry={() => void state.retry()}
          onChange={change}
        />
      </div>
    </Shell>
  );
}
