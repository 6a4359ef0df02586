/** Converts values to positions in a line chart. */
import { extent } from "d3-array";
import { type ScaleLinear, scaleLinear } from "d3-scale";
import type { LineChartProps } from "./types";

/** Margins around the plot, in px. */
export const MARGIN = { top: 26, right: 16, bottom: 40, left: 56 };
/** Width of a character of a chart's text, in px. */
export const CHARACTER_PX = 6.2;
/** Least width of a plot, in px. */
const LEAST_PX = 40;

export interface PlotScales {
  x: ScaleLinear<number, number>;
  y: ScaleLinear<number, number>;
}

/**
 * Both scales, from the given domains or from the data; y from the data contains zero and ends at
 * round values.
 */
export function plotScales(
  { series, xDomain, yDomain }: Pick<LineChartProps, "series" | "xDomain" | "yDomain">,
  width: number,
  height: number,
): PlotScales {
  const points = series.flatMap((s) => s.points);
  const bands = series.flatMap((s) => s.band ?? []);
  const [x0 = 0, x1 = 1] = xDomain ?? extent(points, (p) => p.x);
  const most = Math.max(0, ...points.map((p) => p.y), ...bands.map((b) => b.high));
  const least = Math.min(0, ...points.map((p) => p.y), ...bands.map((b) => b.low));
  const y = scaleLinear(yDomain ?? [least, most || 1], [height - MARGIN.bottom, MARGIN.top]);
  return {
    x: scaleLinear(
      [x0, x1 === x0 ? x0 + 1 : x1],
      [MARGIN.left, Math.max(MARGIN.left + LEAST_PX, width - MARGIN.right)],
    ),
    y: yDomain ? y : y.nice(5),
  };
}
