import { expect, test } from "vitest";
import type { ServerEvent } from "@/api/events";
import type { Run } from "@/api/types";
import "@/shared/faults/testing/with-fault-kinds";
import { logOf } from "../events/event-text";
import { serverName } from "./cells";
import type { FaultFrame, NetworkFrame, TickFrame } from "./frames";
import { brokenItems, hostNameOf, hostOf, networkOf, readItem, stepsOf, writeItem } from "./network";
import { idealAt, idealSteps, predictedSteps } from "./predicted";
import { seriesOf } from "./series";
import { brokenAt, emptySession, lastIndexAt, reduceSession, routeAt, spansOf, waysAt } from "./session";
import { tickAt, windowStart } from "./use-window";

/**
 * A BCube(2, 1): servers 00, 01, 10, 11 with ids 0 to 3; level-0 switches 4 and 5, level-1 switches
 * 6 and 7.
 */
const NETWORK: NetworkFrame = {
  family: "bcube",
  spec: { family: "bcube", n: 2, k: 1 },
  whole: true,
  mode: "namespaces",
  dataplane: "kernel",
  rate_bits_per_sec: 1e8,
  mtu: 9000,
  seed: 7,
  settle_secs: 1,
  seconds: 10,
  header_efficiency: 0.98,
  servers: { id: [0, 1, 2, 3], name: ["00", "01", "10", "11"] },
  switches: { id: [4, 5, 6, 7], name: ["<0,0>", "<0,1>", "<1,0>", "<1,1>"] },
  links: {
    id: [0, 1, 2, 3, 4, 5, 6, 7],
    a: [0, 1, 2, 3, 0, 1, 2, 3],
    b: [4, 4, 5, 5, 6, 7, 6, 7],
    a_port: [0, 0, 0, 0, 1, 1, 1, 1],
    b_port: [0, 1, 0, 1, 0, 0, 1, 1],
    level: [0, 0, 0, 0, 1, 1, 1, 1],
  },
  flows: { source: [0, 3], destination: [3, 0], ideal_bits_per_sec: [1e8, 1e8] },
  predicted: {
    ideal_bits_per_sec: 4e8,
    abt_bits_per_sec: 3e8,
    flows: 2,
    dropped_flows: 0,
    routing: "bsr-greedy",
  },
  schedule: [
    { id: "f1", kind: "cable-pulled", targets: ["00/<0,0>"], at_secs: 2, until_secs: 4, flap_secs: null },
  ],
  estimate: {
    servers: 4,
    links: 8,
    flows: 2,
    cpu: 0.1,
    start_secs: 1,
    memory_bytes: 0,
    memory_free_bytes: 0,
  },
};

const RUN = {
  state: "running",
  reason: "",
  progress: 0,
  points_done: 0,
  points_total: 1,
  remaining_secs: null,
} as Run;

let id = 0;
const frame = (event: string, data: unknown): ServerEvent => ({
  id: String(++id),
  event,
  data: JSON.stringify(data),
});
const tick = (at_secs: number, more: Partial<TickFrame> = {}): ServerEvent =>
  frame("tick", {
    tick: Math.round(at_secs * 10),
    at_secs,
    phase: "before",
    links: { ab: [100, 0, 0, 0, 0, 0, 0, 0], ba: [0, 0, 0, 0, 0, 0, 0, 0] },
    servers: { received: [0, 0, 0, 100], relayed: [0, 50, 0, 0], cpu: [0.1, 0, 0, 0] },
    goodput_bits_per_sec: 8000,
    abt_bits_per_sec: 4000,
    cpu: 0.5,
    ...more,
  });
const fault = (state: FaultFrame["state"], at_secs: number, more: Partial<FaultFrame> = {}): ServerEvent =>
  frame("fault", {
    id: "f1",
    kind: "cable-pulled",
    targets: ["00/<0,0>"],
    at_secs,
    until_secs: 4,
    flap_secs: null,
    state,
    ok: true,
    ...more,
  });
const sessionOf = (...frames: ServerEvent[]) =>
  reduceSession(emptySession(RUN), [frame("network", NETWORK), ...frames]);

test("the same frames make the same state, whatever the batches they come in", () => {
  const frames = [
    frame("network", NETWORK),
    frame("phase", { phase: "deploying", servers: 4 }),
    tick(-0.1),
    tick(0),
    fault("injected", 2),
    tick(2.1, {
      routes: [[0, [0, 2, 3]]],
      events: [{ kind: "no-path", at_secs: 2, at_nanos: null, server: 1, flow: 0 }],
    }),
    frame("stop-all", { why: "asked for", recovered: true, at_secs: 3 }),
    frame("report", { ended: "done" }),
    frame("state", { state: "succeeded", reason: "" }),
  ];
  const whole = reduceSession(emptySession(RUN), frames);
  const single = frames.reduce((session, each) => reduceSession(session, [each]), emptySession(RUN));
  expect(single).toEqual(whole);
  expect(whole.ticks.map(({ at }) => at)).toEqual([-0.1, 0, 2.1]);
  expect(whole.events).toHaveLength(1);
  expect(whole.live).toMatchObject({ state: "succeeded", points_done: 1 });
});

test("reducing changes no earlier state", () => {
  const before = sessionOf(tick(0, { routes: [[0, [0, 1, 3]]] }));
  reduceSession(before, [tick(0.1, { routes: [[0, [0, 2, 3]]] }), fault("injected", 0.1)]);
  expect(before.ticks).toHaveLength(1);
  expect(before.faults).toHaveLength(0);
  expect(before.routes.get(0)).toHaveLength(1);
});

test("another attempt forgets what an earlier one told", () => {
  const again = reduceSession(sessionOf(tick(0), tick(0.1), fault("injected", 0.1)), [
    frame("state", { state: "running", reason: "" }),
    frame("network", NETWORK),
    tick(-1),
  ]);
  expect(again.ticks.map(({ at }) => at)).toEqual([-1]);
  expect(again.faults).toEqual([]);
  expect(again.routes.size).toBe(0);
});

test("a tick stands for the time since the one before it, also after a gap", () => {
  const { ticks } = sessionOf(tick(0), tick(0.1), tick(0.5), tick(0.5));
  expect(ticks.map(({ secs }) => Number(secs.toFixed(3)))).toEqual([0.1, 0.1, 0.4, 0.1]);
});

test("what is broken is known at any time, and a failed order breaks nothing", () => {
  const { faults } = sessionOf(
    fault("injected", 2),
    fault("failed", 3, { id: "l1", ok: false, reason: "no such link" }),
    fault("recovered", 4),
  );
  expect(brokenAt(faults, 1.9)).toEqual([]);
  expect(brokenAt(faults, 2).map(({ id: item }) => item)).toEqual(["f1"]);
  expect(brokenAt(faults, 3.9)).toHaveLength(1);
  expect(brokenAt(faults, 4)).toEqual([]);
});

test("a fault that flaps has a span each time; one that waits is told by the schedule", () => {
  expect(spansOf(sessionOf(tick(0)))).toMatchObject([{ id: "f1", from: 2, to: 4, waiting: true }]);
  const flapping = sessionOf(fault("injected", 2), fault("recovered", 2.5), fault("injected", 3));
  expect(spansOf(flapping)).toMatchObject([
    { from: 2, to: 2.5, waiting: false },
    { from: 3, to: null, waiting: false },
  ]);
  const stopped = sessionOf(tick(0), frame("stop-all", { why: "asked for", recovered: true, at_secs: 1 }));
  expect(spansOf(stopped)).toEqual([]);
});

test("a flow's ways are known at any time, and go over the links between their servers", () => {
  const session = sessionOf(tick(0, { routes: [[0, [0, 1, 3]]] }), tick(2, { routes: [[0, [0, 2, 3]]] }));
  expect(routeAt(session, 0, -1)).toBeNull();
  expect(routeAt(session, 0, 1)?.path).toEqual([0, 1, 3]);
  expect(waysAt(session, 0, 5)).toMatchObject({ route: { path: [0, 2, 3] }, former: { path: [0, 1, 3] } });
  expect(waysAt(session, null, 5)).toEqual({ route: null, former: null });
  // 00 by <1,0> to 10, by <0,1> to 11.
  expect(stepsOf(session.network!, [0, 2, 3])).toEqual([
    { link: 4, forth: true },
    { link: 6, forth: false },
    { link: 2, forth: true },
    { link: 3, forth: false },
  ]);
});

test("names of faults and of the address bar find their items", () => {
  const { network } = sessionOf();
  for (const text of ["server:01", "switch:<1,0>", "link:00/<0,0>", "flow:1"])
    expect(writeItem(network!, readItem(network!, text))).toBe(text);
  for (const text of [undefined, "", "server:", "server:99", "switch:00", "flow:2", "flow:-1", "nonsense"])
    expect(readItem(network!, text)).toBeNull();
  const broken = brokenItems(network!, [
    { kind: "server-off", targets: ["11"] },
    { kind: "cable-pulled", targets: ["<0,0>/00", "gone"] },
    { kind: "link-rate", targets: ["10/<0,1>"] },
  ]);
  expect([[...broken.nodes.keys()], [...broken.links.keys()], [...broken.degraded.keys()]]).toEqual([
    [3],
    [0],
    [2],
  ]);
});

test("the predicted curve steps with each fault, once for what happens at the same moment", () => {
  const step = (at_secs: number, abt_bits_per_sec: number, failed: string[]) =>
    frame("predicted", { ...NETWORK.predicted, at_secs, abt_bits_per_sec, failed });
  const session = sessionOf(step(2, 1e8, ["00/<0,0>"]), step(4, 2e8, ["11"]), step(4, 3e8, []));
  expect(predictedSteps(session, -1, 9).map(({ x, abt }) => [x, Math.round(abt / 1e6)])).toEqual([
    [-1, 294],
    [2, 98],
    [4, 294],
    [9, 294],
  ]);
  expect(predictedSteps(emptySession(RUN), 0, 1)).toEqual([]);
});

test("what is ideal follows an upgrade, and no fault", () => {
  const step = (at_secs: number, ideal_bits_per_sec: number) =>
    frame("predicted", { ...NETWORK.predicted, at_secs, ideal_bits_per_sec });
  const upgrade = frame("upgrade", { step: 1, at_secs: 3 });
  const steps = [step(2, 6e8), step(3, 8e8), step(4, 5e8)];
  const shown = (...frames: ServerEvent[]) =>
    idealSteps(sessionOf(...frames), -1, 9).map(({ x, goodput }) => [x, Math.round(goodput / 1e6)]);
  expect(shown(...steps)).toEqual([-1, 2, 3, 4, 9].map((x) => [x, 392]));
  expect(shown(...steps.slice(0, 1), upgrade, ...steps.slice(1))).toEqual([
    [-1, 392],
    [2, 392],
    [3, 784],
    [4, 784],
    [9, 784],
  ]);
  expect(idealAt(sessionOf(), 5)).toBeCloseTo(392e6, -6);
  expect(idealAt(emptySession(RUN), 5)).toBeNull();
});

/** A second that ends with the tick of its time. */
const second = (at_secs: number, more: Partial<TickFrame> = {}): ServerEvent => {
  const { data } = tick(at_secs, { links: { ab: [1000, 0, 0, 0, 0, 0, 0, 0], ba: [] }, ...more });
  return frame("second", { ...(JSON.parse(data) as TickFrame), secs: 1 });
};

test("what is long ago is kept in seconds, and no byte, event or way is told twice or lost", () => {
  const [secs, frames] = [1000, [] as ServerEvent[]];
  for (let at = 1; at <= secs; at++) {
    const news: Partial<TickFrame> = {
      events: [{ kind: "no-path", at_secs: at, at_nanos: null, server: 1 }],
      routes: [[0, [0, at % 2 ? 1 : 2, 3]]],
    };
    for (let tenth = 9; tenth >= 0; tenth--) frames.push(tick(at - tenth / 10, tenth === 4 ? news : {}));
    frames.push(second(at, news));
  }
  const followed = sessionOf(...frames);
  const came = frames.filter(({ event }, i) => event === "second" || i >= frames.length - 11 * 300);
  const late = sessionOf(...came);
  for (const session of [followed, late]) {
    expect(session.ticks.length).toBeLessThanOrEqual(3600);
    expect(session.history.length).toBeLessThan(5000);
    const at = session.history.map((item) => item.at);
    expect(at).toEqual([...at].sort((a, b) => a - b));
    expect(session.history.reduce((sum, item) => sum + item.ab[0]!, 0)).toBe(secs * 1000);
    expect(session.events.map((item) => item.at_secs)).toEqual(Array.from({ length: secs }, (_, i) => i + 1));
    expect(session.routes.get(0)!.length).toBe(500);
  }
});

test("a large network's bytes come in units", () => {
  const session = reduceSession(emptySession(RUN), [
    frame("network", { ...NETWORK, unit_bytes: 1000 }),
    tick(0),
  ]);
  expect(session.ticks[0]!.ab[0]).toBe(100_000);
});

test("a search in time finds the last that is not later", () => {
  const items = [0, 0.1, 0.2, 0.2, 5].map((at) => ({ at }));
  for (const [at, index] of [
    [-1, -1],
    [0, 0],
    [0.15, 1],
    [0.2, 3],
    [9, 4],
  ] as const)
    expect(lastIndexAt(items, at)).toBe(index);
  expect(lastIndexAt([], 1)).toBe(-1);
});

test("a server's host is known where there are several, and is nothing to speak of where there is one", () => {
  const spread = networkOf({ ...NETWORK, hosts: { name: ["near", "far"], of_server: [0, 0, 1, 1] } });
  expect([0, 1, 2, 3].map((row) => hostOf(spread, row))).toEqual(["near", "near", "far", "far"]);
  expect(hostOf(networkOf(NETWORK), 2)).toBeNull();
});

test("a device has the plan's host name, and none in a run from before frames told it", () => {
  const { servers, switches } = NETWORK;
  const network = networkOf({
    ...NETWORK,
    servers: { ...servers, host_name: ["h00", "h01", "h10", "h11"] },
    switches: { ...switches, host_name: ["s0-0", "s0-1", "s1-0", "s1-1"] },
  });
  expect([0, 3, 4, 7].map((node) => hostNameOf(network, node))).toEqual(["h00", "h11", "s0-0", "s1-1"]);
  expect(hostNameOf(networkOf(NETWORK), 4)).toBeNull();
});

test("ticks are asked for again where the session is kept in seconds, and shown as far as they reach", () => {
  const session = sessionOf(second(1), second(2), second(3), tick(3.1), tick(3.2));
  const ids = session.seconds.map((second) => second.id);
  expect(windowStart(session, null)).toBeNull();
  expect(windowStart(session, 3.1)).toBeNull();
  expect(windowStart(session, 2.5)).toBe(ids[1]);
  expect(windowStart(session, 0.5)).toBe(0);
  const window = sessionOf(tick(1.9), tick(2), tick(2.1)).ticks;
  expect(tickAt(session.history, window, 2.05)?.at).toBe(2);
  expect(tickAt(session.history, window, 2.9)?.at).toBe(2);
  expect(tickAt(session.history, [], 3.15)?.at).toBe(3.1);
  expect(tickAt([], [], 1)).toBeNull();
});

test("a flow that ends is described in words, with the reason and no null", () => {
  const ended = (flow: number, reason: string | null) => ({
    kind: "flow-done" as const,
    at_secs: 1,
    at_nanos: null,
    server: 0,
    flow,
    reason,
  });
  const session = sessionOf(tick(1, { events: [ended(0, "lost 11: Connection reset"), ended(1, null)] }));
  expect(logOf(session).map(({ text, tone }) => [text, tone])).toEqual([
    ["00 → 11 closed: lost 11: Connection reset", "bad"],
    ["11 → 00 completed", "plain"],
  ]);
});

test("a path that is left, a return flow and a protocol's own event are described in words", () => {
  const at = { at_secs: 1, at_nanos: null, server: 0 };
  const session = sessionOf(
    tick(1, {
      events: [
        { ...at, kind: "path-switched", flow: 0, path: [0, 2, 3], reason: "adaptation" },
        {
          ...at,
          kind: "path-switched",
          tuple: { src: "11", dst: "00", proto: 6, sport: 5201, dport: 40000 },
          answers: 0,
          path: [3, 0],
          reason: "failure",
        },
        {
          ...at,
          kind: "protocol",
          name: "link-state-sent",
          cells: [
            { name: "to", title: "To", kind: "servers", value: [2, 3] },
            { name: "bytes", kind: "count", value: 1234 },
            { name: "gone", kind: "server", value: null },
          ],
        },
      ],
    }),
  );
  const lines = logOf(session).map(({ kind, text }) => [kind, text]);
  const name = (id: number) => serverName(session.network!, id);
  expect(lines).toContainEqual([
    "path-switched",
    `00 → 11 rerouted: ${[0, 2, 3].map(name).join(" · ")} (load)`,
  ]);
  expect(lines).toContainEqual([
    "path-switched",
    `return traffic of 00 → 11 rerouted: ${[3, 0].map(name).join(" · ")} (failure)`,
  ]);
  expect(lines).toContainEqual([
    "link-state-sent",
    `To ${[2, 3].map(name).join(" · ")}, bytes 1,234, gone –`,
  ]);
});

test("kinds of runs recorded before kebab-case are read", () => {
  const old = { kind: "no_path", at_secs: 1, at_nanos: null, server: 0, flow: 0 } as never;
  expect(sessionOf(tick(1, { events: [old] })).events.map(({ kind }) => kind)).toEqual(["no-path"]);
});

const gapsOf = (session: ReturnType<typeof sessionOf>) =>
  seriesOf(session.history, ({ goodput }) => goodput).flatMap(({ x, gap }) => (gap ? [x] : []));

test("a chart has a gap where ticks are missing, and none for a tick that is a little late", () => {
  expect(gapsOf(sessionOf(tick(0.1), tick(0.2), tick(0.32), tick(0.42), tick(1.42), tick(1.52)))).toEqual([
    1.42,
  ]);
  expect(gapsOf(sessionOf(second(1), second(2), tick(2.1), tick(2.2)))).toEqual([]);
});

test("a second that took longer has a gap before it", () => {
  const { id: number, event, data } = second(4.4);
  const late = { id: number, event, data: data.replace('"secs":1', '"secs":2.4') };
  expect(gapsOf(sessionOf(second(1), second(2), late, second(5.4)))).toEqual([4.4]);
});

test("of a long run only gaps that are as long as a stretch are shown, and points stay few", () => {
  const frames: ServerEvent[] = [];
  for (let at = 0.1, n = 1; at < 300; at += n % 10 === 0 ? 0.5 : n === 1501 ? 20 : 0.1, n++)
    frames.push(tick(at));
  const series = seriesOf(sessionOf(...frames).ticks, ({ goodput }) => goodput);
  const gaps = series.filter(({ gap }) => gap);
  expect(gaps).toHaveLength(1);
  expect(series.length).toBeLessThanOrEqual(502);
  const before = series[series.indexOf(gaps[0]!) - 1]!;
  expect(gaps[0]!.x - before.x).toBeGreaterThan(19.9);
});
