import type { Run } from "@/api/types";
import { Empty, Skeleton } from "@/ui/marks";
import { QueuePlace } from "./queue-place";
import styles from "./run-frame.module.css";
import { isOver, type LiveRun } from "./runs";

/** Replaces the results of a run that has none: its progress, or the reason. */
export function NoResultsYet({
  run,
  live,
  title = "No results",
  ended,
  doing,
  height = 280,
}: {
  run: Run;
  live: LiveRun;
  title?: string;
  /** For a run that ended. */
  ended: [reason: string, hint: string];
  doing: string;
  height?: number;
}) {
  if (isOver(live.state))
    return (
      <Empty title={title}>
        <p>
          {live.reason || ended[0]} {ended[1]}
        </p>
      </Empty>
    );
  return (
    <div className={styles.waiting} role="status">
      <Skeleton height={height} />
      <p>{live.state === "queued" ? <QueuePlace run={run.id} /> : doing}</p>
    </div>
  );
}
