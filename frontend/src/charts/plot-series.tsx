/** The content between the axes: bands, lines, points, and markers of events. */
import type { ScaleLinear } from "d3-scale";
import { curveLinear, curveStepAfter, line as lineShape } from "d3-shape";
import type { ThemeTokens } from "@/units";
import type { PlotScales } from "./plot-scales";
import { bandSegments, segmentsOf, seriesLook, symbolPath } from "./series";
import type { LineSeries, Point } from "./types";

/** Lines of up to this many points show each point as a dot. */
const DOTS_AT_MOST = 24;

/** One series; `index` gives its colour and its dashes. */
export function PlotSeries({
  series,
  index,
  scales: { x, y },
  tokens,
}: {
  series: LineSeries;
  index: number;
  scales: PlotScales;
  tokens: ThemeTokens;
}) {
  const { points, band, steps, pointsOnly } = series;
  const look = seriesLook(tokens, index);
  const shape = lineShape<Point>(
    (p) => x(p.x),
    (p) => y(p.y),
  ).defined((p) => Number.isFinite(p.y));
  const curve = shape.curve(steps ? curveStepAfter : curveLinear);
  const segments = segmentsOf(points);
  const dotted = pointsOnly || (!steps && points.length <= DOTS_AT_MOST);
  // A line needs two points: a single point between two gaps is a dot.
  const dots = dotted ? points : segments.flatMap((segment) => (segment.length === 1 ? segment : []));
  return (
    <g fill="none" stroke={look.colour}>
      {band &&
        bandSegments(band, points).map((segment) => (
          <polygon
            key={segment[0]!.x}
            stroke="none"
            fill={look.colour}
            fillOpacity={0.18}
            points={bandPoints(segment, x, y)}
          />
        ))}
      {!pointsOnly && (
        <path
          d={segments.map((segment) => curve(segment) ?? "").join("")}
          strokeWidth={2}
          strokeLinejoin="round"
          strokeDasharray={look.dashPx.join(" ")}
        />
      )}
      {dots.map((p) => (
        <path
          key={p.x}
          transform={`translate(${x(p.x)} ${y(p.y)})`}
          d={symbolPath(look.symbol, pointsOnly ? 4 : dotted ? 2.5 : 1)}
          strokeWidth={dotted ? 2 : 0}
          fill={pointsOnly ? tokens.background : look.colour}
        />
      ))}
    </g>
  );
}

/** An event as a dashed line over the whole height, with its name. */
export function PlotMarker({
  marker,
  x,
  top,
  bottom,
  tokens,
}: {
  marker: { x: number; label: string };
  x: ScaleLinear<number, number>;
  top: number;
  bottom: number;
  tokens: ThemeTokens;
}) {
  return (
    <g transform={`translate(${x(marker.x)} 0)`}>
      <line y1={top} y2={bottom} stroke={tokens.failed} strokeDasharray="3 3" />
      <text x={4} y={top + 10} fill={tokens.bad}>
        {marker.label}
      </text>
    </g>
  );
}

function bandPoints(
  band: readonly { x: number; low: number; high: number }[],
  x: (value: number) => number,
  y: (value: number) => number,
): string {
  const upper = band.map((b) => `${x(b.x)},${y(b.high)}`);
  const lower = [...band].reverse().map((b) => `${x(b.x)},${y(b.low)}`);
  return [...upper, ...lower].join(" ");
}
