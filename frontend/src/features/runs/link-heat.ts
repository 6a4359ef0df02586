/** The load of a simulation's links over time, frame by frame. No drawing. */
import type { components } from "@/api/schema";
import type { LinkLoad } from "@/shared/runs/run-points";

export type HeatInTime = components["schemas"]["LinkHeat"];

/** The frame of a moment: the last one that has begun before it. */
export function frameAt({ step_secs, permille }: HeatInTime, secs: number): number {
  // A moment at the end of a frame belongs to it, however it was rounded.
  const frame = Math.ceil(secs / step_secs - 1e-6) - 1;
  return Math.max(0, Math.min(permille.length - 1, frame));
}

/** When a frame begins and ends. */
export function boundsOf({ step_secs }: HeatInTime, frame: number, simulatedSecs: number): [number, number] {
  return [frame * step_secs, Math.min((frame + 1) * step_secs, simulatedSecs)];
}

/**
 * Shares of the rate by cable and direction. A link that carried nothing has 0. A link that carried
 * something but is not among the busiest is not in the data, so its share is unknown.
 */
export function utilisationOf(
  { links, links_used, permille }: HeatInTime,
  frame: number,
  cables: number,
): LinkLoad {
  const unknown = links_used > links.length ? Number.NaN : 0;
  const ways = [new Float64Array(cables).fill(unknown), new Float64Array(cables).fill(unknown)] as const;
  const row = permille[frame] ?? [];
  for (const [at, link] of links.entries()) ways[link % 2]![link >> 1] = (row[at] ?? 0) / 1000;
  return { a_to_b: ways[0], b_to_a: ways[1] };
}

/** The busier direction of each cable; NaN where neither is known. */
export function busierOf({ a_to_b, b_to_a }: LinkLoad): Float64Array {
  return Float64Array.from(a_to_b, (forth, cable) => {
    const back = b_to_a[cable] ?? Number.NaN;
    return Number.isNaN(forth) ? back : Number.isNaN(back) ? forth : Math.max(forth, back);
  });
}
