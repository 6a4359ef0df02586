/**
 * The results of a sweep over the failure ratio: topologies overlaid, one chart per kind of
 * failure, all on one scale.
 */
import { useMemo } from "react";
import type { Experiment } from "@/api/types";
import { BarChart, LineChart, type LineSeries } from "@/charts";
import { useCrosshair } from "@/charts/crosshair";
import { Block } from "@/shared/runs/block";
import { RatioCharts, SMALL_CHART_PX } from "@/shared/runs/ratio-charts";
import {
  type Curve,
  curvesOf,
  failureAxes,
  type Metric,
  type MetricId,
  type Point,
  topologyNames,
} from "@/shared/runs/run-points";
import { Segmented } from "@/ui/tabs";
import { useTheme } from "@/ui/theme";
import { formatShort } from "@/units";

const CHART_PX = 260;

export function CurvesPanel({
  experiment,
  points,
  metrics,
  metric,
  onMetric,
  provenance,
}: {
  experiment: Experiment;
  points: readonly Point[];
  metrics: readonly Metric[];
  metric: Metric;
  onMetric: (id: MetricId) => void;
  provenance: string;
}) {
  const curves = useMemo(() => curvesOf(points, metric.of), [points, metric]);
  // A throughput of few survivors can look good, so the number of dropped flows is shown below it.
  const dropped = useMemo(() => {
    const lost = metrics.find(({ id }) => id === "dropped");
    if (metric.id !== "abt" || !lost || !points.some(({ result }) => result.dropped_flows > 0)) return null;
    return { metric: lost, curves: curvesOf(points, lost.of) };
  }, [points, metric, metrics]);
  const names = useMemo(() => topologyNames(experiment), [experiment]);
  const axes = failureAxes(experiment.axes);
  return (
    <Block
      label="Curves"
      title={metric.title}
      aside={
        <Segmented
          label="Quantity"
          value={metric.id}
          onChange={onMetric}
          items={metrics.map(({ id, short }) => ({ id, label: short }))}
        />
      }
    >
      {axes.length > 0 ? (
        <>
          <RatioCharts axes={axes} curves={curves} names={names} metric={metric} provenance={provenance} />
          {dropped && (
            <RatioCharts
              axes={axes}
              curves={dropped.curves}
              names={names}
              metric={dropped.metric}
              provenance={provenance}
              heightPx={SMALL_CHART_PX}
            />
          )}
        </>
      ) : names.length > 1 ? (
        <TopologyBars curves={curves} names={names} metric={metric} provenance={provenance} />
      ) : (
        <SeedChart points={points} name={names[0]!} metric={metric} provenance={provenance} />
      )}
    </Block>
  );
}

/** Without failures: one bar a topology, the mean of its seeds. */
function TopologyBars({
  curves,
  names,
  metric,
  provenance,
}: {
  curves: readonly Curve[];
  names: readonly string[];
  metric: Metric;
  provenance: string;
}) {
  const theme = useTheme((state) => state.name);
  return (
    <BarChart
      title={`${metric.subject} by topology`}
      theme={theme}
      provenance={`${provenance} · mean of the seeds`}
      itemLabel="Topology"
      valueLabel={metric.unit}
      format={metric.format}
      axis
      items={names.map((label, topology) => ({
        id: String(topology),
        label,
        value: curves.find((curve) => curve.topology === topology)?.points[0]?.mean ?? null,
        basis: "modelled" as const,
      }))}
    />
  );
}

/** One question with many seeds: a point a seed. */
function SeedChart({
  points,
  name,
  metric,
  provenance,
}: {
  points: readonly Point[];
  name: string;
  metric: Metric;
  provenance: string;
}) {
  const theme = useTheme((state) => state.name);
  const crosshair = useCrosshair("seed");
  const series = useMemo<LineSeries[]>(
    () => [
      {
        id: "seeds",
        label: name,
        pointsOnly: true,
        points: points
          .flatMap(({ seed, result }) => {
            const y = metric.of(result);
            return y === null ? [] : [{ x: seed, y }];
          })
          .sort((a, b) => a.x - b.x),
      },
    ],
    [points, name, metric],
  );
  return (
    <LineChart
      title={`${metric.subject} by seed`}
      theme={theme}
      provenance={provenance}
      series={series}
      xLabel="seed"
      yLabel={metric.unit}
      xFormat={(seed) => formatShort(seed, 0)}
      yFormat={metric.format}
      yTick={metric.tick}
      xTicks={Math.max(1, points.length - 1)}
      height={CHART_PX}
      {...crosshair}
    />
  );
}
