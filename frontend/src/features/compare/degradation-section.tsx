/**
 * Throughput and graceful degradation of the compared plans: offered with its cost, then drawn as
 * it is computed.
 */
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { RatioCharts, SMALL_CHART_PX } from "@/shared/runs/ratio-charts";
import { curvesOf } from "@/shared/runs/run-points";
import { durationText, isOver, remainingText } from "@/shared/runs/runs";
import { ProblemView } from "@/shared/server/problem";
import { Button } from "@/ui/button";
import { BasisBadge, Skeleton } from "@/ui/marks";
import { formatPercent, plural } from "@/units";
import styles from "./compare-page.module.css";
import { ABT, CUT_OFF, KINDS, RATIOS } from "./degradation";
import type { useDegradation } from "./use-degradation";

export default function DegradationSection({
  degradation,
  names,
}: {
  degradation: ReturnType<typeof useDegradation>;
  names: string[];
}) {
  const { estimate, run, log, feed, error, start, starting } = degradation;
  const points = log?.points;
  const curves = useMemo(
    () => points && { abt: curvesOf(points, ABT.of), cut: curvesOf(points, CUT_OFF.of) },
    [points],
  );
  const live = log?.live ?? run;
  const axes = KINDS.map((kind) => ({ kind, ratios: RATIOS }));
  const provenance = [
    "modelled",
    run && `engine flow ${run.engine_version}`.trim(),
    "all to all, default routing for each topology",
    points && plural(new Set(points.map(({ seed }) => seed)).size, "seed"),
    run && `run ${run.id}`,
  ]
    .filter(Boolean)
    .join(" · ");
  return (
    <section className={styles.degradation} aria-label="Throughput and degradation">
      <div className={styles.degradationHead}>
        <h2>Throughput under failures</h2>
        <BasisBadge basis="modelled" />
        {run && live && (
          <span role="status" className={styles.planDetail}>
            {feed === "lost"
              ? "Connection lost. Data may be out of date. Reconnecting…"
              : isOver(live.state)
                ? live.state === "succeeded"
                  ? ""
                  : `The run was ${live.state}. ${live.reason}`
                : `${formatPercent(live.progress)} ${remainingText(live.remaining_secs)}`}
          </span>
        )}
        {run && (
          <Link to="/runs/$id" params={{ id: run.id }}>
            Open the run
          </Link>
        )}
      </div>
      {error ? (
        <ProblemView error={error} />
      ) : !run ? (
        estimate ? (
          <p className={styles.offer}>
            All-to-all traffic on each plan, with up to 20 % of its servers or switches failed:{" "}
            {plural(estimate.points, "point")}, {estimate.secs.expected < 1 ? "" : "about "}
            {durationText(estimate.secs.expected)} here.
            <Button look="primary" icon="play" disabled={starting} onClick={start}>
              {starting ? "Starting…" : "Predict"}
            </Button>
          </p>
        ) : (
          <Skeleton height={40} />
        )
      ) : curves && curves.abt.length > 0 ? (
        <>
          <RatioCharts axes={axes} curves={curves.abt} names={names} metric={ABT} provenance={provenance} />
          <RatioCharts
            axes={axes}
            curves={curves.cut}
            names={names}
            metric={CUT_OFF}
            provenance={provenance}
            heightPx={SMALL_CHART_PX}
          />
        </>
      ) : (
        <Skeleton height={260} />
      )}
    </section>
  );
}
