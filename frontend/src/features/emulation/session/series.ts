/**
 * Ticks to what charts draw: few enough points for any length of a run, and the same ones every
 * time.
 */
import type { Point } from "@/charts";
import { formatShort } from "@/units";
import type { Tick } from "./frames";

/** More than a chart has pixels to show. */
const MAX_POINTS = 500;

/**
 * A value of each tick over time. A long run is reduced to the least and the greatest value of each
 * interval, so that no dip is lost. Intervals double in length, so that drawn points stay at their
 * positions. Missing ticks leave a gap in the line, unless the gap is shorter than an interval.
 */
export function seriesOf(ticks: readonly Tick[], of: (tick: Tick) => number): Point[] {
  const [first, last] = [ticks[0], ticks.at(-1)];
  if (!first || !last) return [];
  const wide = ticks.length <= MAX_POINTS ? 0 : stretchSecs(last.at - first.at);
  const gapBefore = (tick: Tick) => tick !== first && tick.missingSecs > wide;
  if (wide === 0)
    return ticks.map((tick) => ({ x: tick.at, y: of(tick), ...(gapBefore(tick) && { gap: true }) }));
  const points: Point[] = [{ x: first.at, y: of(first) }];
  let [low, high, stretch]: [Point | null, Point | null, number] = [null, null, Number.NaN];
  let gap = false;
  const close = () => {
    for (const point of [low, high].sort((a, b) => (a?.x ?? 0) - (b?.x ?? 0)))
      if (point && point.x > points.at(-1)!.x) {
        points.push(gap ? { ...point, gap } : point);
        gap = false;
      }
  };
  for (const tick of ticks) {
    const point = { x: tick.at, y: of(tick) };
    if (Math.floor(tick.at / wide) !== stretch || gapBefore(tick)) {
      close();
      [low, high, stretch] = [point, point, Math.floor(tick.at / wide)];
      gap ||= gapBefore(tick);
    }
    if (point.y < low!.y) low = point;
    if (point.y > high!.y) high = point;
  }
  close();
  if (last.at > points.at(-1)!.x) points.push({ x: last.at, y: of(last) });
  return points;
}

/** With so long stretches, two points of each are not too many. */
function stretchSecs(secs: number): number {
  let wide = 0.1;
  while ((2 * secs) / wide + 4 > MAX_POINTS) wide *= 2;
  return wide;
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
  /** Indexed by [row * columns + column]; NaN where there is no data. */
  values: Float64Array;
}

/** A tick's bytes are spread evenly over the time that it covers. */
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
  const columnAt = (at: number) => Math.max(0, Math.min(columns - 1, Math.floor((at - from) / wide)));
  for (const tick of ticks) {
    const begin = tick.at - tick.secs;
    if (tick.at <= from || begin >= to) continue;
    const bytes = of(tick);
    for (let column = columnAt(begin); column <= columnAt(tick.at); column++) {
      const [left, right] = [from + column * wide, from + (column + 1) * wide];
      const within = Math.min(tick.at, right) - Math.max(begin, left);
      if (within <= 0) continue;
      secs[column]! += within;
      for (let row = 0; row < rows; row++)
        sums[row * columns + column]! += ((bytes[row] ?? 0) * 8 * within) / tick.secs;
    }
  }
  // A column with data for a tenth of its time or less is not shown yet.
  const covered = (column: number) => secs[column]! > wide / 10;
  const values = sums.map((bits, i) => (covered(i % columns) ? bits / secs[i % columns]! : Number.NaN));
  return { from, to, columns, rows, values };
}
