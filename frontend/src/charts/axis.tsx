/** Axes as SVG, ticks by d3-scale. */
import type { ScaleLinear } from "d3-scale";
import type { ThemeTokens } from "@/units";
import { CHARACTER_PX } from "./plot-scales";

/** Space beyond the right end of every plot, in px. */
const ROOM_PX = 12;

interface AxisProps {
  scale: ScaleLinear<number, number>;
  ticks: number;
  format: (value: number) => string;
  tokens: ThemeTokens;
  label?: string;
}

/** Along the bottom; `y` is the axis line. */
export function AxisBottom({ scale, ticks, format, tokens, label, y }: AxisProps & { y: number }) {
  const [x0, x1] = scale.range() as [number, number];
  // A text at the end stays within the picture.
  const shift = (at: number, text: string) =>
    Math.min(0, x1 + ROOM_PX - (at + (text.length * CHARACTER_PX) / 2));
  return (
    <g fill={tokens.muted} textAnchor="middle">
      <line x1={x0} x2={x1} y1={y} y2={y} stroke={tokens.rule} />
      {scale
        .ticks(ticks)
        .map((tick) => ({ at: scale(tick), text: format(tick) }))
        .map(({ at, text }) => (
          <g key={at} transform={`translate(${at} ${y})`}>
            <line y2={4} stroke={tokens.rule} />
            <text x={shift(at, text)} y={16}>
              {text}
            </text>
          </g>
        ))}
      {label && (
        <text x={(x0 + x1) / 2} y={y + 32}>
          {label}
        </text>
      )}
    </g>
  );
}

/** At the left with grid lines across; `x` is the axis line, `right` where the grid ends. */
export function AxisLeft({
  scale,
  ticks,
  format,
  tokens,
  label,
  x,
  right,
}: AxisProps & { x: number; right: number }) {
  const top = Math.min(...scale.range());
  return (
    <g fill={tokens.muted} textAnchor="end">
      {scale.ticks(ticks).map((tick) => (
        <g key={tick} transform={`translate(0 ${scale(tick)})`}>
          <line x1={x} x2={right} stroke={tokens.grid} />
          <text x={x - 6} dy="0.35em">
            {format(tick)}
          </text>
        </g>
      ))}
      {label && (
        <text x={4} y={top - 10} textAnchor="start">
          {label}
        </text>
      )}
    </g>
  );
}
