/**
 * The one time axis of the page: charts, the strip of servers, the faults and the scrub bar stand
 * one above the other.
 */
import type { Session } from "../session/session";

/** The same margins as those of the charts. */
export const AXIS_MARGIN_PX = { left: 56, right: 16 } as const;
/** Name of the shared crosshair. */
export const TIME_AXIS = "session time";

/**
 * From the first tick, or the settling before it, to the end of the measured time or the last tick.
 */
export function timeDomain({ network, history: ticks, report }: Session): [number, number] {
  if (!network) return [0, 1];
  const { settle_secs, seconds } = network.frame;
  const first = ticks[0]?.at ?? -settle_secs;
  const last = ticks.at(-1)?.at ?? 0;
  // A session that ended early has no empty rest.
  return [Math.min(first, 0), report ? Math.max(last, 1) : Math.max(seconds, last)];
}
