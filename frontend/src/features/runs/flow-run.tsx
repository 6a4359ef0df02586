import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo } from "react";
import { NoResultsYet } from "@/shared/runs/no-results-yet";
import { Downloads } from "@/shared/runs/run-downloads";
import { useRunFeed } from "@/shared/runs/run-feed";
import { RunFrame, type RunViewProps } from "@/shared/runs/run-frame";
import { emptyLog, metricsOf, reduceLog, shownPoint } from "@/shared/runs/run-points";
import type { RunSearch } from "@/shared/runs/run-url";
import { hasHypotheses } from "@/shared/runs/runs";
import { useGuide } from "@/shared/shell/guide/guide-state";
import { Skeleton } from "@/ui/marks";
import { CurvesPanel } from "./curves-panel";
import { HeatPanel } from "./heat-panel";
import { NumbersPanel } from "./numbers-panel";
import { PointsTable } from "./points-table";
import { provenanceOf, Question } from "./question";
import styles from "./runs.module.css";

const VerdictPanel = lazy(() => import("@/shared/runs/verdict-panel"));
const MethodsPanel = lazy(() => import("@/shared/runs/methods/methods-panel"));

/**
 * A run of the flow engine: curves that grow point by point, one point's numbers, and its links on
 * the plan.
 */
export default function FlowRun({ run, experiment }: RunViewProps) {
  const { value: log, feed, error } = useRunFeed(run.events_url, emptyLog(run), reduceLog);
  const search = useSearch({ strict: false }) as RunSearch;
  const navigate = useNavigate();
  const setSearch = useCallback(
    (change: Partial<RunSearch>) =>
      void navigate({
        from: "/runs/$id",
        to: ".",
        search: (old) => ({ ...old, ...change }),
        replace: true,
      }),
    [navigate],
  );
  useEffect(() => useGuide.getState().reach("predict"), []);
  const { live, points, loads } = log;
  const metrics = useMemo(() => metricsOf(points), [points]);
  const metric = metrics.find(({ id }) => id === search.metric) ?? metrics[0];
  const shown = shownPoint(points, search.point);
  const provenance = useMemo(() => provenanceOf(run, experiment!), [run, experiment]);
  const choose = useCallback((point: number) => setSearch({ point, sel: undefined }), [setSearch]);
  return (
    <RunFrame run={run} live={live} feed={feed} error={error} actions={<Downloads run={run} />}>
      <div className={styles.columns}>
        <div className={styles.main}>
          {points.length === 0 || !metric || !shown ? (
            <NoResultsYet
              run={run}
              live={live}
              ended={["The run ended before its first point.", "Run it again, or change the setup."]}
              doing="Computing the first point…"
            />
          ) : (
            <>
              {live.state === "succeeded" && hasHypotheses(experiment!) && (
                <Suspense fallback={<Skeleton height={64} />}>
                  <VerdictPanel run={run} />
                </Suspense>
              )}
              {live.points_total > 1 && (
                <CurvesPanel
                  experiment={experiment!}
                  points={points}
                  metrics={metrics}
                  metric={metric}
                  onMetric={(id) => setSearch({ metric: id === "abt" ? undefined : id })}
                  provenance={provenance}
                />
              )}
              <NumbersPanel
                point={shown}
                title={experiment!.topologies[shown.topology]?.title ?? ""}
                provenance={provenance}
              />
              {live.state === "succeeded" && (
                <Suspense fallback={<Skeleton height={240} />}>
                  <MethodsPanel run={run} experiment={experiment} />
                </Suspense>
              )}
              <HeatPanel
                key={shown.topology}
                experiment={experiment!}
                point={shown}
                load={loads.get(shown.point)}
                view={search.view ?? "floor"}
                onView={(view) => setSearch({ view: view === "floor" ? undefined : view })}
                sel={search.sel}
                onSel={(sel) => setSearch({ sel })}
                provenance={provenance}
              />
              {live.points_total > 1 && (
                <PointsTable
                  experiment={experiment!}
                  points={points}
                  metrics={metrics}
                  shown={shown.point}
                  onShow={choose}
                  total={live.points_total}
                />
              )}
            </>
          )}
        </div>
        <Question experiment={experiment!} />
      </div>
    </RunFrame>
  );
}
