/** The values of the lines at the crosshair. */
import type { ThemeTokens } from "@/units";
import { CHARACTER_PX, MARGIN, type PlotScales } from "./plot-scales";
import { nearestIndex, seriesLook, stepAt, symbolPath } from "./series";
import type { LineSeries, Point } from "./types";

/** Space for the axis' unit, in px. */
const UNIT_PX = 90;

export interface Reading {
  series: LineSeries;
  /** Index of its look. */
  index: number;
  point: Point;
}

/** The value of each series at x: its nearest point, or its step at x. */
export function readingsAt(series: readonly LineSeries[], at: number): Reading[] {
  return series.flatMap((s, index) => {
    const point = s.steps ? stepAt(s.points, at) : s.points[nearestIndex(s.points, at)];
    return point ? [{ series: s, index: s.look ?? index, point }] : [];
  });
}

/**
 * The text of the readout and the part that fits above the plot: `shown` of the text, and the unit
 * of y next to it.
 */
export function readoutText(
  spoken: string,
  xLabel: string,
  width: number,
): { shown: string; unitHasRoom: boolean } {
  const fits = (free: number) => spoken.length * CHARACTER_PX < width - MARGIN.right - free;
  // A long readout takes the whole line above the plot, if necessary without the axis' name; its
  // numbers have units.
  return { shown: fits(0) ? spoken : spoken.slice(xLabel.length + 1), unitHasRoom: fits(UNIT_PX) };
}

export function PlotReadout({
  at,
  readings,
  text,
  scales: { x, y },
  width,
  height,
  tokens,
}: {
  at: number;
  readings: readonly Reading[];
  text: string;
  scales: PlotScales;
  width: number;
  height: number;
  tokens: ThemeTokens;
}) {
  return (
    <g data-live="">
      <line x1={x(at)} x2={x(at)} y1={MARGIN.top} y2={height - MARGIN.bottom} stroke={tokens.rule} />
      {readings.map(({ series, index, point }) => {
        const look = seriesLook(tokens, index);
        return (
          <path
            key={series.id}
            transform={`translate(${x(point.x)} ${y(point.y)})`}
            d={symbolPath(look.symbol, 4)}
            fill={look.colour}
            stroke={tokens.background}
            strokeWidth={1.5}
          />
        );
      })}
      <text x={width - MARGIN.right} y={14} textAnchor="end" fill={tokens.ink}>
        {text}
      </text>
    </g>
  );
}
