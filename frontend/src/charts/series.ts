/** Look of a series: colour, dash and marker together, so that colour is never the only cue. */
import {
  type SymbolType,
  symbol,
  symbolCircle,
  symbolDiamond,
  symbolSquare,
  symbolTriangle,
  symbolWye,
} from "d3-shape";
import { levelColour, levelDashPx, type ThemeTokens } from "@/units";
import type { Point } from "./types";

export interface SeriesLook {
  colour: string;
  dashPx: readonly number[];
  /** The symbol of its points. */
  symbol: SymbolType;
}

const SYMBOLS = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond, symbolWye] as const;

/**
 * After all colours are used, they repeat with other dashes and symbols: thirty different looks.
 */
export function seriesLook(theme: ThemeTokens, index: number): SeriesLook {
  const round = Math.floor(index / theme.levels.length);
  return {
    colour: levelColour(theme, index),
    dashPx: levelDashPx(index + round),
    symbol: SYMBOLS[round % SYMBOLS.length]!,
  };
}

/** A point's outline around 0, 0, with the area of a circle of that radius. */
export function symbolPath(type: SymbolType, radius: number): string {
  return symbol(type, Math.PI * radius * radius)() ?? "";
}

/** Rows for a table of several series over one x: every x that any of them has, ascending. */
export function mergedRows(series: readonly { points: readonly { x: number; y: number }[] }[]): {
  xs: number[];
  ys: (number | null)[][];
} {
  const xs = [...new Set(series.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const ys = series.map(({ points }) => {
    const byX = new Map(points.map(({ x, y }) => [x, y]));
    return xs.map((x) => byX.get(x) ?? null);
  });
  return { xs, ys };
}

/** Points by segments that a line may join: a point after a gap begins a new segment. */
export function segmentsOf<P extends Point>(points: readonly P[]): P[][] {
  const segments: P[][] = [];
  for (const point of points) {
    const last = segments.at(-1);
    if (last && !point.gap) last.push(point);
    else segments.push([point]);
  }
  return segments;
}

/** A band by the same segments as its points. */
export function bandSegments<B extends { x: number }>(band: readonly B[], points: readonly Point[]): B[][] {
  const segments = segmentsOf(points).map((segment) => {
    const [from, to] = [segment[0]!.x, segment.at(-1)!.x];
    return band.filter(({ x }) => from <= x && x <= to);
  });
  return segments.filter((segment) => segment.length > 0);
}

/** Index of the point nearest to x; points ascend in x. -1 without points. */
export function nearestIndex(points: readonly { x: number }[], x: number): number {
  let [low, high] = [0, points.length - 1];
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle]!.x <= x) low = middle;
    else high = middle;
  }
  return Math.abs(points[low]!.x - x) <= Math.abs(points[high]!.x - x) ? low : high;
}

/** The value of a series of steps at x: the last step at or before x. Points ascend in x. */
export function stepAt(points: readonly Point[], x: number): Point | undefined {
  const step = points.findLast((point) => point.x <= x);
  return step && { x, y: step.y };
}
