/**
 * The subflows of an MPTCP connection at a time, from the fabric's events, and the rate of each.
 */
import { type SessionEvent, SUBFLOWS, type Tick } from "./frames";
import type { Network, Node } from "./network";
import { lastIndexAt } from "./session";

export interface Subflow {
  /** Its number in the connection; 0 is the first one. */
  number: number;
  /** The ports of both ends whose addresses it is between; null for a server's own address. */
  ports: readonly (number | null)[];
  path: readonly Node[];
  /** Why it is down; null while it is up. */
  down: string | null;
}

/** The subflows that a flow has had until a time, by number. `events` ascend in time. */
export function subflowsAt(
  network: Network,
  events: readonly SessionEvent[],
  flow: number,
  at: number,
): Subflow[] {
  const subflows = new Map<number, Subflow>();
  for (const event of events) {
    if (event.kind !== "subflow-up" && event.kind !== "subflow-down") continue;
    if (event.at_secs > at || event.flow !== flow) continue;
    const { subflow: number } = event;
    if (event.kind === "subflow-up") {
      const path = (event.path ?? []).flatMap((id) => network.nodeAt.get(id) ?? []);
      subflows.set(number, { number, ports: event.ports, path, down: null });
    } else {
      const before = subflows.get(number) ?? { number, ports: [null, null], path: [] };
      subflows.set(number, { ...before, down: event.reason });
    }
  }
  return [...subflows.values()].sort((a, b) => a.number - b.number);
}

/**
 * Servers report about once a second what subflows carried; on a full machine two reports come
 * late, or close together.
 */
const REPORT_SECS = 1;
/** A flow without a report for so long carries nothing. */
const SILENT_SECS = 3;

/**
 * Bits per second of each subflow of a flow, by number; only of those that carried something. The
 * rate is the sum of its latest report and the reports within the second before it, divided by the
 * time since the report before these.
 */
export function subflowRates(history: readonly Tick[], flow: number, at: number): Map<number, number> {
  const bytes = new Map<number, number>();
  let secs = 0;
  let latest: number | null = null;
  for (let index = lastIndexAt(history, at); index >= 0; index -= 1) {
    const tick = history[index]!;
    const rows = (tick.rows.subflows ?? []).filter(([row]) => Math.floor(row / SUBFLOWS) === flow);
    // Nine tenths of the interval, because reports arrive only as exactly as ticks.
    if (latest !== null && secs - latest >= REPORT_SECS * 0.9 && rows.length > 0)
      return ratesOf(bytes, secs - latest);
    if (rows.length > 0) latest ??= secs;
    for (const [row, count] of rows) bytes.set(row % SUBFLOWS, (bytes.get(row % SUBFLOWS) ?? 0) + count);
    secs += tick.secs;
    if (latest === null ? secs >= SILENT_SECS : secs - latest >= SILENT_SECS) break;
  }
  return ratesOf(bytes, REPORT_SECS);
}

function ratesOf(bytes: ReadonlyMap<number, number>, secs: number): Map<number, number> {
  return new Map([...bytes].map(([number, count]) => [number, (count * 8) / secs]));
}
