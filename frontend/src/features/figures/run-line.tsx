/** Progress of the run, and the error if it failed. */
import { QueuePlace } from "@/shared/runs/queue-place";
import { type LiveRun, remainingText } from "@/shared/runs/runs";
import { formatPercent } from "@/units";
import styles from "./figures.module.css";

export function RunLine({ id, run, busy }: { id: string | null; run: LiveRun | null; busy: boolean }) {
  const ended = run !== null && !busy && (run.state === "failed" || run.state === "cancelled");
  const progress = run?.progress ?? 0;
  const left = run?.remaining_secs;
  return (
    <div className={styles.live} data-shown={busy || ended || undefined}>
      <span role="status">
        {ended && `The last run ${run.state === "failed" ? "failed" : "was cancelled"}`}
        {ended && (run.reason ? `: ${run.reason}` : ".")}
        {busy && (run?.state === "running" || id === null ? "Running" : <QueuePlace run={id} />)}
      </span>
      {busy && (
        <>
          <progress max={1} value={progress} aria-label="Progress of the run" />
          <span>{formatPercent(progress)}</span>
          <span>{remainingText(left)}</span>
        </>
      )}
    </div>
  );
}
