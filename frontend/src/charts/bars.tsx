/** Horizontal bars from one zero, each with its value and its change against the base. */
import { scaleLinear } from "d3-scale";
import { useId } from "react";
import { formatDelta, formatRelative, formatShort, THEMES, type ThemeTokens } from "@/units";
import { AxisBottom } from "./axis";
import styles from "./chart.module.css";
import { ChartFrame } from "./chart-frame";
import type { ChartColumn, ChartCommon } from "./types";

export interface BarItem {
  id: string;
  label: string;
  /** Null if unknown. */
  value: number | null;
  /** The value as the page writes it. */
  display?: string;
  /** The plan that the others are measured against. */
  isBase?: boolean;
  /** The origin of the value. Modelled and assumed values are hatched. */
  basis: "measured" | "modelled" | "assumed";
}

const ROW_PX = 24;
const BAR_PX = 14;

export interface BarChartProps extends Omit<ChartCommon, "height"> {
  items: readonly BarItem[];
  /** Zero to the largest value when absent. */
  domain?: readonly [number, number];
  /** The heading of the items in the table: `Plan`, `Level`. */
  itemLabel: string;
  valueLabel: string;
  format?: (value: number) => string;
  axis?: boolean;
}

export function BarChart(props: BarChartProps) {
  const format = props.format ?? ((value: number) => formatShort(value, 2));
  return (
    <ChartFrame
      title={props.title}
      theme={props.theme}
      provenance={props.provenance}
      fileName={props.fileName}
      columns={barColumns(props.items, props.itemLabel, props.valueLabel, format)}
    >
      {(width) => (
        <Bars
          items={props.items}
          domain={props.domain}
          format={format}
          tokens={THEMES[props.theme]}
          width={width}
          label={`${props.title}, ${props.valueLabel}`}
          axisLabel={props.axis ? props.valueLabel : undefined}
        />
      )}
    </ChartFrame>
  );
}

export function barColumns(
  items: readonly BarItem[],
  itemLabel: string,
  valueLabel: string,
  format: (value: number) => string,
): ChartColumn[] {
  const base = items.find((item) => item.isBase)?.value ?? null;
  const columns: ChartColumn[] = [
    { header: itemLabel, values: items.map((item) => item.label) },
    { header: valueLabel, values: items.map((item) => item.value), format },
  ];
  if (base !== null)
    columns.push({
      header: "Change",
      values: items.map((item) => (item.value === null || item.isBase ? null : item.value - base)),
      format: (value) => formatDelta(value, (v) => format(v ?? 0)),
    });
  columns.push({ header: "Basis", values: items.map((item) => item.basis) });
  return columns;
}

interface BarsProps {
  items: readonly BarItem[];
  domain?: readonly [number, number];
  format: (value: number) => string;
  tokens: ThemeTokens;
  width: number;
  label: string;
  axisLabel?: string;
}

/** The bars without a frame, for callers that draw one. */
export function Bars({ items, domain, format, tokens, width, label, axisLabel }: BarsProps) {
  const hatch = useId();
  const names = Math.min(140, width * 0.3);
  const texts = 132;
  const base = items.find((item) => item.isBase)?.value ?? null;
  const most = Math.max(0, ...items.map((item) => item.value ?? 0));
  const least = Math.min(0, ...items.map((item) => item.value ?? 0));
  const scale = scaleLinear(domain ?? [least, most || 1], [names, Math.max(names + 20, width - texts)]);
  const rows = items.length * ROW_PX;
  const height = rows + (axisLabel === undefined ? 4 : 40);
  const spoken = items
    .map((item) => `${item.label} ${item.value === null ? "unknown" : (item.display ?? format(item.value))}`)
    .join(", ");
  return (
    <svg
      className={styles.plot}
      viewBox={`0 0 ${width} ${height}`}
      height={height}
      role="img"
      aria-label={`${label}: ${spoken}`}
    >
      <defs>
        <pattern id={hatch} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="6" height="6" fill={tokens.accent} fillOpacity="0.35" />
          <line x1="0" y1="0" x2="0" y2="6" stroke={tokens.accent} strokeWidth="4" />
        </pattern>
      </defs>
      {axisLabel !== undefined && (
        <AxisBottom scale={scale} ticks={4} format={format} tokens={tokens} label={axisLabel} y={rows + 2} />
      )}
      {base !== null && (
        <line
          x1={scale(base)}
          x2={scale(base)}
          y1={0}
          y2={rows}
          stroke={tokens.rule}
          strokeDasharray="2 3"
          data-base=""
        />
      )}
      {items.map((item, i) => {
        const y = i * ROW_PX + (ROW_PX - BAR_PX) / 2;
        const value = item.value;
        const [from, to] = value === null ? [0, 0] : [scale(Math.min(0, value)), scale(Math.max(0, value))];
        const relative = base !== null && !item.isBase ? formatRelative(value, base) : "";
        return (
          <g key={item.id}>
            <text
              x={names - 8}
              y={i * ROW_PX + ROW_PX / 2}
              dy="0.35em"
              textAnchor="end"
              fill={tokens.ink}
              fontWeight={item.isBase ? 600 : 400}
            >
              {clip(item.label, names - 12)}
            </text>
            {value === null ? (
              <text x={names + 4} y={i * ROW_PX + ROW_PX / 2} dy="0.35em" fill={tokens.muted}>
                unknown
              </text>
            ) : (
              <>
                <rect
                  x={from}
                  y={y}
                  width={Math.max(1, to - from)}
                  height={BAR_PX}
                  rx={2}
                  fill={
                    item.isBase ? tokens.rule : item.basis === "measured" ? tokens.accent : `url(#${hatch})`
                  }
                />
                <text
                  x={to + 6}
                  y={i * ROW_PX + ROW_PX / 2}
                  dy="0.35em"
                  fill={tokens.ink}
                  stroke={tokens.background}
                  strokeWidth={3}
                  paintOrder="stroke"
                >
                  {item.display ?? format(value)}
                  {relative !== "" && <tspan fill={tokens.muted}>{`  ${relative}`}</tspan>}
                </text>
              </>
            )}
          </g>
        );
      })}
    </svg>
  );
}

/** About 7 px a character at 11 px. */
function clip(text: string, roomPx: number): string {
  const most = Math.max(3, Math.floor(roomPx / 7));
  return text.length <= most ? text : `${text.slice(0, most - 1)}\u2026`;
}
