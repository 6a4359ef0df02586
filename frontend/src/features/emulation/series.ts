/** Ticks to what charts draw: few enough points for any length of a run, and the same ones every time. */
import type { Point } from "@/charts";
import { formatShort } from "@/units";
import type { Tick } from "./frames";

/** More than a chart has pixels to show. */
const MAX_POINTS = 500;

/** A value of each tick over time; of a long run every so manieth, so that drawn points stay where they are. */
export function seriesOf(ticks: readonly Tick[], of: (tick: Tick) => number): Point[] {
  const every = strideOf(ticks.length);
  const points: Point[] = [];
  for (let i = 0; i < ticks.length; i += every) points.push({ x: ticks[i]!.at, y: of(ticks[i]!) });
  const last = ticks.at(-1);
  if (last && (ticks.length - 1) % every !== 0) points.push({ x: last.at, y: of(last) });
  return points;
}

/** A power of two: points that are drawn once are drawn again when there are more. */
function strideOf(count: number): number {
  let every = 1;
  while (count / every > MAX_POINTS) every *= 2;
  return every;
}

export const megabits = (bitsPerSec: number): number => bitsPerSec / 1e6;
/** -2.345 is "−2.3 s". */
export const secsText = (secs: number): string => `${formatShort(secs, 1)}\u00a0s`;

/** Mean rates of servers over equal stretches of time, as rows of servers: bits per second. */
export interface Strip {
  from: number;
  to: number;
  columns: number;
  rows: number;
  /** [row * columns + column]; NaN where nothing was told. */
  values: Float64Array;
}

export function stripOf(
  ticks: readonly Tick[],
  rows: number,
  of: (tick: Tick) => ArrayLike<number>,
  from: number,
  to: number,
  columns: number,
): Strip {
  const [sums, secs] = [new Float64Array(rows * columns), new Float64Array(columns)];
  const wide = (to - from) / columns;
  for (const tick of ticks) {
    const column = Math.floor((tick.at - from) / wide);
    if (column < 0 || column >= columns) continue;
    secs[column]! += tick.secs;
    const bytes = of(tick);
    for (let row = 0; row < rows; row++) sums[row * columns + column]! += (bytes[row] ?? 0) * 8;
  }
  const values = sums.map((bits, i) => (secs[i % columns]! > 0 ? bits / secs[i % columns]! : Number.NaN));
  return { from, to, columns, rows, values };
}
