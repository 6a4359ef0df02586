/**
 * How evenly links are loaded: the cumulative distribution of flows per link direction, by level.
 */
import type { LineSeries } from "@/charts";
import type { LinkLoad } from "@/shared/runs/run-points";

/** Approximate maximum of x values, over all levels together. */
const LOADS_AT_MOST = 240;
/** Room before the least load, as a share of the range of loads. */
const LEAD = 0.04;

/**
 * One step curve for each level, its y the share of the level's directions that carry at most x
 * flows. All curves have the same x values, so that every row of the table has every level. A
 * failed link counts as two directions without flows.
 */
export function loadDistribution(
  { a_to_b, b_to_a }: LinkLoad,
  levelOfLink: ArrayLike<number>,
  labelOf: (level: number) => string,
): LineSeries[] {
  const byLevel = new Map<number, number[]>();
  for (let link = 0; link < a_to_b.length; link++) {
    const level = levelOfLink[link]!;
    const flows = byLevel.get(level) ?? [];
    flows.push(a_to_b[link]!, b_to_a[link]!);
    byLevel.set(level, flows);
  }
  const levels = [...byLevel]
    .sort(([a], [b]) => a - b)
    .map(([level, flows]) => ({ level, flows: Uint32Array.from(flows).sort() }));
  const each = Math.max(2, Math.floor(LOADS_AT_MOST / Math.max(1, levels.length)));
  const loads = [...new Set(levels.flatMap(({ flows }) => spread(flows, each)))].sort((a, b) => a - b);
  const [least, most] = [loads[0] ?? 0, loads.at(-1) ?? 0];
  // If no load is 0, the curves begin at 0 % just below the least load.
  if (least > 0) loads.unshift(Math.max(0, least - Math.ceil((most - least + 1) * LEAD)));
  return levels.map(({ level, flows }) => ({
    id: String(level),
    label: labelOf(level),
    look: level,
    steps: true,
    points: loads.map((x) => ({ x, y: countUpTo(flows, x) / flows.length })),
  }));
}

/**
 * Every value that occurs when they are few; else those at evenly spread ranks, the least and the
 * most among them.
 */
function spread(sorted: Uint32Array, most: number): number[] {
  const distinct = [...new Set(sorted)];
  if (distinct.length <= most) return distinct;
  return Array.from({ length: most }, (_, i) => sorted[Math.round((i * (sorted.length - 1)) / (most - 1))]!);
}

/** How many of the ascending values are at most `limit`. */
function countUpTo(sorted: Uint32Array, limit: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
