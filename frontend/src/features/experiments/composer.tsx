/** The form of an experiment, with what it would take beside it. */
import { useEffect } from "react";
import { Button } from "@/ui/button";
import { UnreadableInputs } from "@/ui/unreadable";
import { plural } from "@/units";
import { useGuide } from "../shared/guide/guide-state";
import { Shell } from "../shared/shell";
import { ComposerFields } from "./composer-fields";
import { ComposerSide } from "./composer-side";
import { type Draft, pointsOf } from "./draft";
import { secsText } from "./estimate";
import styles from "./experiments.module.css";
import { type ComposerState, useComposer } from "./use-composer";

export function Composer({ draft, change }: { draft: Draft; change: (draft: Draft) => void }) {
  const state = useComposer(draft, change);
  useEffect(() => useGuide.getState().reach("plan"), []);
  const { estimate, error, pending, messages } = state;
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
            <ComposerFields draft={draft} change={change} state={state} />
            <RunBar draft={draft} state={state} />
          </form>
        </UnreadableInputs>
        <ComposerSide
          draft={draft}
          estimate={estimate}
          pending={pending}
          problem={state.problem}
          error={error}
          messages={messages}
          onRetry={() => void state.retry()}
          onChange={change}
        />
      </div>
    </Shell>
  );
}

/** Whether the draft can be run and how long it would take, beside the button that runs it. */
function RunBar({ draft, state }: { draft: Draft; state: ComposerState }) {
  const { estimate, pending, toCorrect, blocked, starting } = state;
  const points = pointsOf(draft);
  return (
    <div className={styles.foot}>
      <span role="status" className={styles.verdict} data-bad={toCorrect > 0 || undefined}>
        {toCorrect > 0
          ? `${plural(toCorrect, "field")} to correct`
          : pending
            ? "Checking…"
            : estimate
              ? `${plural(points, "point")}, ${secsText(estimate)}`
              : ""}
      </span>
      <Button type="submit" look="primary" icon="play" disabled={blocked} data-guide="run">
        {starting ? "Starting…" : "Run"}
      </Button>
    </div>
  );
}
