/**
 * The image of a strip on the time axis of the other charts, with the servers' names next to it.
 */
import { scaleLinear } from "d3-scale";
import type { ThemeTokens } from "@/units";
import { secsText } from "../session/series";
import { AXIS_MARGIN_PX } from "./axis";

const MARGIN = { top: 8, bottom: 20 };

export function StripPlot({
  names,
  domain,
  picture,
  width,
  tokens,
  at,
  label,
}: {
  names: readonly string[];
  domain: [number, number];
  /** One pixel per server and interval; null if there is nothing to draw. */
  picture: string | null;
  width: number;
  tokens: ThemeTokens;
  at: number | null;
  label: string;
}) {
  const [from, to] = domain;
  const rowPx = Math.max(3, Math.min(12, 176 / names.length));
  const height = MARGIN.top + MARGIN.bottom + rowPx * names.length;
  const x = scaleLinear(domain, [
    AXIS_MARGIN_PX.left,
    Math.max(AXIS_MARGIN_PX.left + 40, width - AXIS_MARGIN_PX.right),
  ]);
  return (
    <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={label}>
      <rect
        x={x(from)}
        y={MARGIN.top}
        width={x(to) - x(from)}
        height={rowPx * names.length}
        fill={tokens.well}
      />
      {picture && (
        <image
          href={picture}
          x={x(from)}
          y={MARGIN.top}
          width={x(to) - x(from)}
          height={rowPx * names.length}
          preserveAspectRatio="none"
          style={{ imageRendering: "pixelated" }}
        />
      )}
      {names.map(
        (name, row) =>
          (rowPx >= 10 || row % Math.ceil(11 / rowPx) === 0) && (
            <text
              key={name}
              x={AXIS_MARGIN_PX.left - 6}
              y={MARGIN.top + (row + 0.5) * rowPx}
              dy="0.35em"
              textAnchor="end"
              fontSize={11}
              fill={tokens.muted}
            >
              {name}
            </text>
          ),
      )}
      {x.ticks(Math.max(2, Math.floor(width / 90))).map((tick) => (
        <text key={tick} x={x(tick)} y={height - 5} textAnchor="middle" fontSize={11} fill={tokens.muted}>
          {secsText(tick)}
        </text>
      ))}
      {at !== null && (
        <line
          x1={x(at)}
          x2={x(at)}
          y1={MARGIN.top}
          y2={height - MARGIN.bottom}
          stroke={tokens.ink}
          strokeWidth={1}
        />
      )}
    </svg>
  );
}
