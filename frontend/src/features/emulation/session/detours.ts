/** The detours around hot racks at a time, from the controllers' events. */
import type { SessionEvent } from "./frames";
import type { Network, Node } from "./network";

export interface Detour {
  /** The rack that is hot, by its number. */
  rack: number;
  /**
   * The ToRs that its packets pass: a relay lies between each and the next, and the last one sends
   * them up. Traffic to the rack passes them in reverse order.
   */
  tors: readonly Node[];
}

/**
 * The detours in use at a time. Each event of a rack lists all its detours in one direction again,
 * or reports that they have ended. `events` ascend in time.
 */
export function detoursAt(network: Network, events: readonly SessionEvent[], at: number): Detour[] {
  const latest = new Map<string, Detour[]>();
  for (const event of events) {
    if (event.at_secs > at || event.kind !== "protocol" || !event.name.startsWith("detours-")) continue;
    const cellOf = (name: string) => event.cells.find((cell) => cell.name === name)?.value as unknown;
    const rack = cellOf("rack");
    if (typeof rack !== "number") continue;
    const ways = cellOf("tors");
    latest.set(
      `${rack} ${String(cellOf("direction"))}`,
      Array.isArray(ways) ? ways.flatMap((way) => detourOf(network, rack, way)) : [],
    );
  }
  return [...latest.values()].flat();
}

/** None where a ToR is not of this network. */
function detourOf(network: Network, rack: number, way: unknown): Detour[] {
  const ids = (way as { servers?: unknown }).servers;
  if (!Array.isArray(ids)) return [];
  const tors = ids.map((id) => network.nodeAt.get(id));
  return tors.every((node) => node !== undefined) ? [{ rack, tors }] : [];
}
