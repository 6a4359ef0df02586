import type { Summary } from "@/api/types";
import { formatCount } from "@/units";
import styles from "./plan-page.module.css";
import { isDirty, usePlan } from "./store";

/** The line at the foot: how long the plan took, whether it is saved, and what made it. */
export function PlanStatus({
  summary,
  planning,
  readyMs,
  zoomPercent,
}: {
  summary: Summary | undefined;
  planning: boolean;
  readyMs: number | null;
  zoomPercent: number | undefined;
}) {
  const saved = usePlan((state) => state.saved);
  const dirty = usePlan(isDirty);
  return (
    <>
      <span data-testid="ready" data-ready-ms={readyMs ?? undefined}>
        {planning ? "Planning…" : readyMs === null ? "" : `Plan ready in ${formatCount(readyMs)} ms`}
      </span>
      <span>
        {saved
          ? dirty
            ? `Edited since revision ${saved.revision}`
            : `Saved, revision ${saved.revision}`
          : "Not saved"}
      </span>
      {zoomPercent !== undefined && <span>Zoom {formatCount(zoomPercent)} %</span>}
      {summary && <span className={styles.hash}>Plan {summary.plan_hash.slice(0, 10)}</span>}
      {summary && <span className={styles.hash}>Engine {summary.engine_version}</span>}
    </>
  );
}
