/** The cumulative distribution of flows per link direction, one curve for each level. */
import { useMemo } from "react";
import { LineChart } from "@/charts";
import { useCrosshair } from "@/charts/crosshair";
import type { PlanModel } from "@/scene/model";
import type { Answer, LinkLoad } from "@/shared/runs/run-points";
import { useTheme } from "@/ui/theme";
import { formatCount, formatPercent, levelShortLabel } from "@/units";
import { loadDistribution } from "./load-distribution";

const CHART_PX = 240;
const ALL = [0, 1] as const;
const share = (value: number) => formatPercent(value, value > 0 && value < 1 ? 1 : 0);
const tick = (value: number) => formatPercent(value);

export function LoadChart({
  model,
  load,
  levels,
  provenance,
}: {
  model: PlanModel;
  load: LinkLoad;
  /** By level, for the names. */
  levels: Answer["link_flows_by_level"];
  provenance: string;
}) {
  const theme = useTheme((state) => state.name);
  const crosshair = useCrosshair("flows");
  const series = useMemo(
    () =>
      loadDistribution(
        load,
        model.cables.level,
        (level) => levels[String(level)]?.label ?? levelShortLabel(level),
      ),
    [load, model, levels],
  );
  const loads = series[0]?.points;
  if (!loads) return null;
  return (
    <LineChart
      title="Distribution of link loads"
      theme={theme}
      provenance={provenance}
      series={series}
      xLabel="flows per link direction"
      yLabel="cumulative share of link directions"
      xFormat={formatCount}
      // Loads are whole numbers, and so are their ticks.
      xTicks={Math.max(1, loads.at(-1)!.x - loads[0]!.x)}
      yFormat={share}
      yTick={tick}
      yDomain={ALL}
      height={CHART_PX}
      {...crosshair}
    />
  );
}
