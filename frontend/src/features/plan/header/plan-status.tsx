import type { Summary } from "@/api/types";
import { formatCount } from "@/units";
import { isDirty, usePlan } from "../state/store";
import styles from "./plan-status.module.css";
import { RunningWords } from "./running-words";
import type { Running } from "./use-export";

/** The line at the foot: computing time of the plan, whether it is saved, and the engine. */
export function PlanStatus({
  summary,
  planning,
  readyMs,
  zoomPercent,
  running,
}: {
  summary: Summary | undefined;
  planning: boolean;
  readyMs: number | null;
  zoomPercent: number | undefined;
  /** The export in progress. */
  running: Running | null;
}) {
  const saved = usePlan((state) => state.saved);
  const dirty = usePlan(isDirty);
  return (
    <>
      <span data-testid="ready" data-ready-ms={readyMs ?? undefined}>
        {planning ? "Planning…" : readyMs === null ? "" : `Planned in ${formatCount(readyMs)} ms`}
      </span>
      <span>
        {saved
          ? dirty
            ? `Edited since revision ${saved.revision}`
            : `Saved, revision ${saved.revision}`
          : "Not saved"}
      </span>
      {running && (
        <span data-testid="exporting">
          {`${running.format.title}: `}
          <RunningWords running={running} />
        </span>
      )}
      {zoomPercent !== undefined && <span>Zoom {formatCount(zoomPercent)} %</span>}
      {summary && <span className={styles.hash}>Plan {summary.plan_hash.slice(0, 10)}</span>}
      {summary && <span className={styles.hash}>Engine {summary.engine_version}</span>}
    </>
  );
}
