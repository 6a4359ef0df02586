/** Frames to state: what the stream of an emulation has told so far. Pure, so that live, reconnect and replay agree. */
import type { ServerEvent } from "@/api/events";
import type { Run } from "@/api/types";
import { type LiveRun, liveRun } from "../shared/runs";
import {
  type FaultFrame,
  keptTick,
  type NetworkFrame,
  type PhaseFrame,
  type Report,
  type SessionEvent,
  type StopAllFrame,
  type Tick,
  type TickFrame,
} from "./frames";
import { type Network, networkOf } from "./network";

/** The way of a flow from a time on. */
export interface Route {
  at: number;
  /** Rows of servers, both ends. */
  path: readonly number[];
}

export interface Session {
  live: LiveRun;
  /** Null until the attempt has begun. */
  network: Network | null;
  phases: readonly PhaseFrame[];
  /** Ascending in time; negative while the traffic settles. */
  ticks: readonly Tick[];
  events: readonly SessionEvent[];
  faults: readonly FaultFrame[];
  stops: readonly StopAllFrame[];
  /** By row of the flow, each as it was chosen, in order of time. */
  routes: ReadonlyMap<number, readonly Route[]>;
  report: Report | null;
}

export const emptySession = (run: Run): Session => ({
  live: {
    state: run.state,
    reason: run.reason,
    progress: run.progress,
    points_done: run.points_done,
    points_total: run.points_total,
    remaining_secs: run.remaining_secs,
  },
  ...NOTHING_YET,
});

const NOTHING_YET: Omit<Session, "live"> = {
  network: null,
  phases: [],
  ticks: [],
  events: [],
  faults: [],
  stops: [],
  routes: new Map(),
  report: null,
};

/** More events than this are not kept: an hour of a flapping cable would fill the page's memory. */
const KEPT_EVENTS = 20_000;

export function reduceSession(session: Session, frames: readonly ServerEvent[]): Session {
  let { live, ...told } = session;
  // Copied once a batch, whatever the number of its frames.
  let [ticks, events, phases] = [[...told.ticks], [...told.events], [...told.phases]];
  let [faults, stops] = [[...told.faults], [...told.stops]];
  let routes: Map<number, Route[]> | null = null;
  for (const frame of frames) {
    switch (frame.event) {
      case "network":
        // Another attempt: what an earlier one told is not this one's.
        told = { ...NOTHING_YET, network: networkOf(JSON.parse(frame.data) as NetworkFrame) };
        [ticks, events, phases, faults, stops, routes] = [[], [], [], [], [], new Map()];
        break;
      case "phase":
        phases.push(JSON.parse(frame.data) as PhaseFrame);
        break;
      case "tick": {
        const tick = JSON.parse(frame.data) as TickFrame;
        ticks.push(keptTick(tick, ticks.at(-1)));
        for (const event of tick.events ?? []) events.push(event);
        if (tick.routes && told.network) {
          routes ??= copied(told.routes);
          addRoutes(routes, told.network, tick);
        }
        break;
      }
      case "fault":
        faults.push(JSON.parse(frame.data) as FaultFrame);
        break;
      case "stop-all":
        stops.push(JSON.parse(frame.data) as StopAllFrame);
        break;
      case "report":
        told = { ...told, report: JSON.parse(frame.data) as Report };
        break;
      default:
        live = liveRun(live, frame);
    }
  }
  if (events.length > KEPT_EVENTS) events = events.slice(-KEPT_EVENTS);
  if (told.report && live.points_done === 0) live = { ...live, points_done: 1 };
  return {
    ...told,
    live,
    ticks,
    events,
    phases,
    faults,
    stops,
    routes: routes ?? told.routes,
  };
}

const copied = (routes: Session["routes"]) => new Map([...routes].map(([flow, list]) => [flow, [...list]]));

function addRoutes(routes: Map<number, Route[]>, network: Network, { at_secs, routes: chosen }: TickFrame) {
  for (const [flow, servers] of chosen ?? []) {
    const route = { at: at_secs, path: servers.map((id) => network.serverRow.get(id) ?? -1) };
    const list = routes.get(flow);
    if (list) list.push(route);
    else routes.set(flow, [route]);
  }
}

/** The last of `items` that is not later than `at`; items ascend. -1 when all are later. */
export function lastIndexAt(items: readonly { at: number }[], at: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items[middle]!.at <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** What is broken at a time: by fault, its latest frame, if that injected it. */
export function brokenAt(faults: readonly FaultFrame[], at: number): FaultFrame[] {
  const latest = new Map<string, FaultFrame>();
  for (const fault of faults)
    if (fault.at_secs <= at && fault.state !== "failed") latest.set(fault.id, fault);
  return [...latest.values()].filter(({ state }) => state === "injected");
}

/** How a flow goes at a time; null before its path was chosen. */
export function routeAt(session: Session, flow: number, at: number): Route | null {
  const routes = session.routes.get(flow);
  return routes?.[lastIndexAt(routes, at)] ?? null;
}

/** The way of a flow at a time, and the one that it left for it. */
export function waysAt(
  session: Session,
  flow: number | null,
  at: number,
): { route: Route | null; former: Route | null } {
  const routes = flow === null ? undefined : session.routes.get(flow);
  const index = routes ? lastIndexAt(routes, at) : -1;
  return { route: routes?.[index] ?? null, former: routes?.[index - 1] ?? null };
}

/** One fault's life on the time axis; one that flaps has several. */
export interface Span {
  id: string;
  kind: string;
  targets: readonly string[];
  from: number;
  /** Null while it lasts. */
  to: number | null;
  /** Announced by the schedule; it has not struck. */
  waiting: boolean;
}

/** Every fault as spans: those that struck, then those that the schedule still holds. */
export function spansOf(session: Session): Span[] {
  const spans: Span[] = [];
  const open = new Map<string, Span>();
  for (const { id, kind, targets, state, at_secs } of session.faults) {
    if (state === "injected") {
      const span = { id, kind, targets, from: at_secs, to: null, waiting: false };
      open.set(id, span);
      spans.push(span);
    } else if (state === "recovered") {
      const span = open.get(id);
      if (span) span.to = at_secs;
      open.delete(id);
    }
  }
  const struck = new Set(session.faults.map(({ id }) => id));
  const stopped = session.stops.length > 0 || session.report !== null;
  for (const { id, kind, targets, at_secs, until_secs } of session.network?.frame.schedule ?? [])
    if (!struck.has(id) && !stopped)
      spans.push({ id, kind, targets, from: at_secs, to: until_secs, waiting: true });
  return spans;
}
