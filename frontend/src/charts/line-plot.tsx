/** The lines themselves with axes, markers and a crosshair that follows the pointer and the arrow keys. */
import { bisector, extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { curveLinear, curveStepAfter, line as lineShape } from "d3-shape";
import { type KeyboardEvent, type PointerEvent, useMemo, useState } from "react";
import { THEMES } from "@/units";
import { AxisBottom, AxisLeft } from "./axis";
import styles from "./chart.module.css";
import { mergedRows, nearestIndex, seriesLook, stepAt } from "./series";
import type { LineChartProps, Point } from "./types";

/** Width of a mean character of the readout, and room for the axis' unit, in px. */
const CHARACTER_PX = 6.2;
const UNIT_PX = 90;
const MARGIN = { top: 26, right: 16, bottom: 40, left: 56 };

type PlotProps = LineChartProps & {
  width: number;
  xFormat: (value: number) => string;
  yFormat: (value: number) => string;
};

export function LinePlot(props: PlotProps) {
  const { series, width, theme, xFormat, yFormat, markers = [] } = props;
  const height = props.height ?? 220;
  const tokens = THEMES[theme];
  const [own, setOwn] = useState<number | null>(null);
  const at = props.at === undefined ? own : props.at;
  const { x, y } = useMemo(() => {
    const points = series.flatMap((s) => s.points);
    const bands = series.flatMap((s) => s.band ?? []);
    const [x0 = 0, x1 = 1] = props.xDomain ?? extent(points, (p) => p.x);
    const most = Math.max(0, ...points.map((p) => p.y), ...bands.map((b) => b.high));
    const least = Math.min(0, ...points.map((p) => p.y), ...bands.map((b) => b.low));
    const scaleY = scaleLinear(props.yDomain ?? [least, most || 1], [height - MARGIN.bottom, MARGIN.top]);
    return {
      x: scaleLinear(
        [x0, x1 === x0 ? x0 + 1 : x1],
        [MARGIN.left, Math.max(MARGIN.left + 40, width - MARGIN.right)],
      ),
      y: props.yDomain ? scaleY : scaleY.nice(5),
    };
  }, [series, width, height, props.xDomain, props.yDomain]);
  const shape = lineShape<Point>(
    (p) => x(p.x),
    (p) => y(p.y),
  ).defined((p) => Number.isFinite(p.y));
  const xs = useMemo(() => mergedRows(series).xs, [series]);
  const move = (next: number | null) => {
    setOwn(next);
    props.onAt?.(next);
  };
  const onPointerMove = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const value = x.invert(((event.clientX - box.left) / box.width) * width);
    const index = nearestIndex(
      xs.map((v) => ({ x: v })),
      value,
    );
    move(index < 0 ? null : xs[index]!);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") return move(null);
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0 || xs.length === 0) return;
    event.preventDefault();
    const place = at === null ? (by > 0 ? -1 : xs.length) : bisector((v: number) => v).left(xs, at);
    move(xs[Math.max(0, Math.min(xs.length - 1, place + by))]!);
  };
  const readout =
    at === null
      ? null
      : series
          .map((s) => ({ s, point: s.steps ? stepAt(s.points, at) : s.points[nearestIndex(s.points, at)] }))
          .filter(({ point }) => point !== undefined);
  const spoken = readout
    ? `${props.xLabel} ${xFormat(at!)}: ${readout.map(({ s, point }) => `${s.label} ${yFormat(point!.y)}`).join(", ")}`
    : "";
  const fits = (text: string, free: number) => text.length * CHARACTER_PX < width - MARGIN.right - free;
  // A long readout takes the whole line above the plot, without the axis' name if need be; its numbers name their units.
  const unitHasRoom = fits(spoken, UNIT_PX);
  const shown = fits(spoken, 0) ? spoken : spoken.slice(props.xLabel.length + 1);
  return (
    <>
      <svg
        className={styles.plot}
        viewBox={`0 0 ${width} ${height}`}
        height={height}
        role="img"
        aria-label={`${props.title}: ${props.yLabel} over ${props.xLabel}, ${series.map((s) => s.label).join(", ")}. Left and right read values; the table has all of them.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move the crosshair
        tabIndex={0}
        onPointerMove={onPointerMove}
        onPointerLeave={() => move(null)}
        onKeyDown={onKeyDown}
      >
        <AxisLeft
          scale={y}
          ticks={4}
          format={props.yTick ?? yFormat}
          tokens={tokens}
          label={unitHasRoom ? props.yLabel : ""}
          x={MARGIN.left}
          right={width - MARGIN.right}
        />
        <AxisBottom
          scale={x}
          ticks={Math.min(props.xTicks ?? Number.POSITIVE_INFINITY, Math.max(2, Math.floor(width / 90)))}
          format={xFormat}
          tokens={tokens}
          label={props.xLabel}
          y={height - MARGIN.bottom}
        />
        {markers.map((marker) => (
          <g key={`${marker.x}:${marker.label}`} transform={`translate(${x(marker.x)} 0)`}>
            <line y1={MARGIN.top} y2={height - MARGIN.bottom} stroke={tokens.failed} strokeDasharray="3 3" />
            <text x={4} y={MARGIN.top + 10} fill={tokens.bad}>
              {marker.label}
            </text>
          </g>
        ))}
        {series.map((s, i) => {
          const look = seriesLook(tokens, i);
          return (
            <g key={s.id} fill="none" stroke={look.colour}>
              {s.band && (
                <polygon
                  stroke="none"
                  fill={look.colour}
                  fillOpacity={0.18}
                  points={bandPoints(s.band, x, y)}
                />
              )}
              {!s.pointsOnly && (
                <path
                  d={shape.curve(s.steps ? curveStepAfter : curveLinear)(s.points as Point[]) ?? ""}
                  strokeWidth={2}
                  strokeLinejoin="round"
                  strokeDasharray={look.dashPx.join(" ")}
                />
              )}
              {(s.pointsOnly || (!s.steps && s.points.length <= 24)) &&
                s.points.map((p) => (
                  <circle
                    key={p.x}
                    cx={x(p.x)}
                    cy={y(p.y)}
                    r={s.pointsOnly ? 4 : 2.5}
                    strokeWidth={2}
                    fill={s.pointsOnly ? tokens.background : look.colour}
                  />
                ))}
            </g>
          );
        })}
        {readout && (
          <g data-live="">
            <line x1={x(at!)} x2={x(at!)} y1={MARGIN.top} y2={height - MARGIN.bottom} stroke={tokens.rule} />
            {readout.map(({ s, point }) => (
              <circle
                key={s.id}
                cx={x(point!.x)}
                cy={y(point!.y)}
                r={4}
                fill={seriesLook(tokens, series.indexOf(s)).colour}
                stroke={tokens.background}
                strokeWidth={1.5}
              />
            ))}
            <text x={width - MARGIN.right} y={14} textAnchor="end" fill={tokens.ink}>
              {shown}
            </text>
          </g>
        )}
      </svg>
      <output className={styles.unseen} aria-live="polite">
        {spoken}
      </output>
    </>
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
