/**
 * Reduces the frames of an emulation's stream to its state. Pure functions, so that live view,
 * reconnect and replay agree.
 */
import type { ServerEvent } from "@/api/events";
import type { Run } from "@/api/types";
import { type LiveRun, liveRun } from "@/shared/runs/runs";
import {
  type FaultFrame,
  keptTick,
  type NetworkFrame,
  type PhaseFrame,
  type PredictedFrame,
  type Report,
  type SecondFrame,
  type SessionEvent,
  type StopAllFrame,
  secsOf,
  TICKS_OF_SECOND,
  type Tick,
  type TickFrame,
  type UpgradeFrame,
} from "./frames";
import { type Network, networkOf } from "./network";

/** The path of a flow from a time on. */
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
  /** The latest, ascending in time; negative while the traffic settles. */
  ticks: readonly Tick[];
  /** All data in whole seconds. */
  seconds: readonly Tick[];
  /** The whole session: seconds as far as there are no ticks, then the ticks. */
  history: readonly Tick[];
  /** The fabric's number of the latest tick. */
  lastTick: number;
  events: readonly SessionEvent[];
  faults: readonly FaultFrame[];
  /** One prediction for the time after each fault or recovery. */
  predicted: readonly PredictedFrame[];
  stops: readonly StopAllFrame[];
  /** Steps of the upgrade that were carried out. */
  upgrades: readonly UpgradeFrame[];
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
  seconds: [],
  history: [],
  lastTick: -1,
  events: [],
  faults: [],
  predicted: [],
  stops: [],
  upgrades: [],
  routes: new Map(),
  report: null,
};

/** More events than this are not kept: an hour of a flapping cable would fill the page's memory. */
const KEPT_EVENTS = 20_000;
/** Five minutes of ticks; older ones are kept as seconds. */
const KEPT_TICKS = 3000;
/** The number of additional ticks before the oldest are dropped. */
const SLACK_TICKS = 600;
/** The most stored paths of one flow. */
const KEPT_ROUTES = 500;

export function reduceSession(session: Session, frames: readonly ServerEvent[]): Session {
  let { live, ...next } = session;
  // Copied once per batch, for any number of frames.
  let [ticks, seconds, events] = [[...next.ticks], [...next.seconds], [...next.events]];
  let [phases, faults, predicted, stops, upgrades] = [
    [...next.phases],
    [...next.faults],
    [...next.predicted],
    [...next.stops],
    [...next.upgrades],
  ];
  let routes: Map<number, readonly Route[]> | null = null;
  const count = (tick: TickFrame) => {
    next.lastTick = tick.tick;
    for (const event of tick.events ?? []) events.push(inKebabCase(event));
    if (tick.routes && next.network) {
      routes ??= new Map(next.routes);
      addRoutes(routes, next.network, tick);
    }
  };
  for (const frame of frames) {
    const unitBytes = next.network?.frame.unit_bytes ?? 1;
    switch (frame.event) {
      case "network":
        // Another attempt of the run: data of an earlier attempt does not belong to it.
        next = { ...NOTHING_YET, network: networkOf(JSON.parse(frame.data) as NetworkFrame) };
        [ticks, seconds, events, routes] = [[], [], [], new Map()];
        [phases, faults, predicted, stops, upgrades] = [[], [], [], [], []];
        break;
      case "phase":
        phases.push(JSON.parse(frame.data) as PhaseFrame);
        break;
      case "tick": {
        const tick = JSON.parse(frame.data) as TickFrame;
        ticks.push(
          keptTick(Number(frame.id), tick, { secs: secsOf(tick, ticks.at(-1)), ticks: 1 }, unitBytes),
        );
        count(tick);
        break;
      }
      case "second": {
        const second = JSON.parse(frame.data) as SecondFrame;
        seconds.push(
          keptTick(Number(frame.id), second, { secs: second.secs, ticks: TICKS_OF_SECOND }, unitBytes),
        );
        // Its ticks arrived before, or are omitted because they are old.
        if (second.tick !== next.lastTick) count(second);
        break;
      }
      case "fault":
        faults.push(JSON.parse(frame.data) as FaultFrame);
        break;
      case "predicted":
        predicted.push(JSON.parse(frame.data) as PredictedFrame);
        break;
      case "stop-all":
        stops.push(JSON.parse(frame.data) as StopAllFrame);
        break;
      case "upgrade":
        upgrades.push(JSON.parse(frame.data) as UpgradeFrame);
        break;
      case "report":
        next = { ...next, report: JSON.parse(frame.data) as Report };
        break;
      default:
        live = liveRun(live, frame);
    }
  }
  if (events.length > KEPT_EVENTS) events = events.slice(-KEPT_EVENTS);
  if (ticks.length > KEPT_TICKS + SLACK_TICKS) ticks = latest(ticks, seconds);
  if (next.report && live.points_done === 0) live = { ...live, points_done: 1 };
  return {
    ...next,
    live,
    ticks,
    seconds,
    history: historyOf(seconds, ticks),
    events,
    phases,
    faults,
    predicted,
    stops,
    upgrades,
    routes: routes ?? next.routes,
  };
}

/** How many faults the run has a schedule for: those injected by hand are counted after them. */
export const scheduledFaults = ({ network }: Pick<Session, "network">): number =>
  network?.frame.schedule.length ?? 0;

/** Drops old ticks that whole seconds cover. */
function latest(ticks: Tick[], seconds: readonly Tick[]): Tick[] {
  const last = seconds[lastIndexAt(seconds, ticks.at(-KEPT_TICKS)!.at)];
  return last ? ticks.slice(lastIndexAt(ticks, last.at) + 1) : ticks;
}

function historyOf(seconds: readonly Tick[], ticks: readonly Tick[]): readonly Tick[] {
  const [first] = ticks;
  if (!first) return seconds;
  const before = lastIndexAt(seconds, first.at - first.secs / 2) + 1;
  return before === 0 ? ticks : [...seconds.slice(0, before), ...ticks];
}

function addRoutes(
  routes: Map<number, readonly Route[]>,
  network: Network,
  { at_secs, routes: chosen }: TickFrame,
) {
  for (const [flow, servers] of chosen ?? []) {
    const route = { at: at_secs, path: servers.map((id) => network.nodeAt.get(id) ?? -1) };
    routes.set(flow, [...(routes.get(flow) ?? []).slice(1 - KEPT_ROUTES), route]);
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

/** The faults in force at a time: by fault, its latest frame, if that injected it. */
export function brokenAt(faults: readonly FaultFrame[], at: number): FaultFrame[] {
  const latest = new Map<string, FaultFrame>();
  for (const fault of faults)
    if (fault.at_secs <= at && fault.state !== "failed") latest.set(fault.id, fault);
  return [...latest.values()].filter(({ state }) => state === "injected");
}

/** The path of a flow at a time; null before its path was chosen. */
export function routeAt(session: Session, flow: number, at: number): Route | null {
  const routes = session.routes.get(flow);
  return routes?.[lastIndexAt(routes, at)] ?? null;
}

/** The path of a flow at a time, and the previous one. */
export function waysAt(
  session: Session,
  flow: number | null,
  at: number,
): { route: Route | null; former: Route | null } {
  const routes = flow === null ? undefined : session.routes.get(flow);
  const index = routes ? lastIndexAt(routes, at) : -1;
  return { route: routes?.[index] ?? null, former: routes?.[index - 1] ?? null };
}

/** One period of a fault on the time axis; a flapping fault has several. */
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

/** Every fault as spans: first those injected, then those still scheduled. */
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

/** Runs that were recorded before kinds were spelled in kebab-case have underscores in them. */
function inKebabCase(event: SessionEvent): SessionEvent {
  return event.kind.includes("_")
    ? ({ ...event, kind: event.kind.replaceAll("_", "-") } as SessionEvent)
    : event;
}
