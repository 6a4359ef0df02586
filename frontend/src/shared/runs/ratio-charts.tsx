/**
 * A quantity over the failure rate: topologies overlaid, one chart a kind of failure, all kinds on
 * one scale.
 */
import { LineChart } from "@/charts";
import { useCrosshair } from "@/charts/crosshair";
import { useTheme } from "@/ui/theme";
import styles from "./block.module.css";
import { ratioSeries } from "./ratio-series";
import { type Curve, FAILURE_WORDS, type failureAxes, type Metric, ratioText } from "./run-points";

const CHART_PX = 260;
export const SMALL_CHART_PX = 160;

export function RatioCharts({
  axes,
  curves,
  names,
  metric,
  provenance,
  heightPx = CHART_PX,
}: {
  axes: ReturnType<typeof failureAxes>;
  curves: readonly Curve[];
  names: readonly string[];
  metric: Metric;
  provenance: string;
  heightPx?: number;
}) {
  const theme = useTheme((state) => state.name);
  const crosshair = useCrosshair("failure rate");
  const seeds = Math.max(0, ...curves.flatMap((curve) => curve.points.map((p) => p.seeds)));
  const most = Math.max(0, ...curves.flatMap((curve) => curve.points.map((p) => p.high)));
  // Kinds on one scale, so that they can be read against each other.
  const yDomain = axes.length > 1 ? ([0, most * 1.05 || 1] as const) : undefined;
  return (
    <div className={styles.multiples}>
      {axes.map(({ kind, ratios }) => (
        <LineChart
          key={kind}
          title={`${metric.subject} under ${kind} failures`}
          theme={theme}
          provenance={
            seeds > 1 ? `${provenance} · line: mean of the seeds, band: minimum to maximum` : provenance
          }
          series={ratioSeries(
            curves.filter((curve) => curve.kind === kind),
            names,
            ratios,
          )}
          xLabel={`failed ${FAILURE_WORDS[kind]}`}
          yLabel={metric.unit}
          xFormat={ratioText}
          yFormat={metric.format}
          yTick={metric.tick}
          xDomain={[Math.min(...ratios), Math.max(...ratios)]}
          yDomain={yDomain}
          height={heightPx}
          {...crosshair}
        />
      ))}
    </div>
  );
}
