import { expect, test } from "vitest";
import { HEAT_CLASSES } from "@/scene";
import type { PlanModel } from "@/scene/model";
import type { NetworkFrame, Tick } from "./frames";
import { networkOf } from "./network";
import { rackLayoutOf, racksOf } from "./rack-layout";
import { seriesOf, stripOf } from "./series";
import { boxOf, hitAt, layoutOf, pointOn } from "./topology-layout";
import { loadClass } from "./topology-paint";

/** A BCube(n, 1) by the digit rule. [bcube §3.1] */
function bcube(n: number): NetworkFrame {
  const servers = Array.from({ length: n * n }, (_, id) => id);
  const a = [...servers, ...servers];
  const b = [
    ...servers.map((id) => n * n + Math.floor(id / n)),
    ...servers.map((id) => n * n + n + (id % n)),
  ];
  return {
    family: "bcube",
    rate_bits_per_sec: 1e8,
    servers: { id: servers, name: servers.map((id) => `${Math.floor(id / n)}.${id % n}`) },
    switches: {
      id: Array.from({ length: 2 * n }, (_, i) => n * n + i),
      name: Array.from({ length: 2 * n }, (_, i) => `<${Math.floor(i / n)},${i % n}>`),
    },
    links: {
      id: a.map((_, i) => i),
      a,
      b,
      a_port: [],
      b_port: [],
      level: a.map((_, i) => (i < n * n ? 0 : 1)),
    },
    flows: { source: [], destination: [], ideal_bits_per_sec: [] },
  } as unknown as NetworkFrame;
}

test.each([2, 4, 8, 16])(
  "everything of a BCube(%i, 1) stands in sight and apart from its neighbours",
  (n) => {
    const network = networkOf(bcube(n));
    const layout = layoutOf(network, 700, 400);
    const boxes = Array.from({ length: network.servers + network.switches }, (_, node) =>
      boxOf(layout, node),
    );
    for (const { x, y, width, height } of boxes) {
      expect(x).toBeGreaterThanOrEqual(0);
      expect(y).toBeGreaterThanOrEqual(0);
      expect(x + width).toBeLessThanOrEqual(700);
      expect(y + height).toBeLessThanOrEqual(400);
    }
    const overlaps = (one: (typeof boxes)[number], other: (typeof boxes)[number]) =>
      one.x < other.x + other.width - 1 &&
      other.x < one.x + one.width - 1 &&
      one.y < other.y + other.height &&
      other.y < one.y + one.height;
    const pairs = boxes.flatMap((one, i) => boxes.slice(i + 1).map((other) => [one, other] as const));
    expect(pairs.filter(([one, other]) => overlaps(one, other))).toEqual([]);
  },
);

test("a point on a node finds it, a point on a link's curve finds that link", () => {
  const network = networkOf(bcube(4));
  const layout = layoutOf(network, 700, 400);
  for (let node = 0; node < network.servers + network.switches; node++) {
    const { x, y, width, height } = boxOf(layout, node);
    expect(hitAt(network, layout, x + width / 2, y + height / 2)).toEqual({ node });
  }
  let found = 0;
  for (let link = 0; link < network.links; link++) {
    // Near its own server no other link runs.
    const { x, y } = pointOn(layout.curves, link, 0.08);
    const hit = hitAt(network, layout, x, y);
    if (hit && "link" in hit && hit.link === link) found++;
  }
  expect(found).toBe(network.links);
  expect(hitAt(network, layout, 2, 396)).toBeNull();
});

test("the class of a load grows with the share of the rate and never leaves the ramp", () => {
  expect(loadClass(0, 0.1, 1e8)).toBe(0);
  expect(loadClass(1, 0.1, 1e8)).toBe(1);
  expect(loadClass(1.25e6 * 0.55, 0.1, 1e8)).toBe(6);
  expect(loadClass(1.25e6, 0.1, 1e8)).toBe(HEAT_CLASSES);
  expect(loadClass(9e9, 0.1, 1e8)).toBe(HEAT_CLASSES);
});

/** BCube(n, 1) as plans pack it: two servers to a unit from below, four switches to a unit at the top. */
function packed(n: number, racks: number): PlanModel {
  const [servers, devices] = [n * n, n * n + 2 * n];
  const perRack = servers / racks;
  const rack = Array.from({ length: devices }, (_, id) =>
    Math.floor(id < servers ? id / perRack : (id - servers) / ((2 * n) / racks)),
  );
  const inRack = (id: number) => (id < servers ? id % perRack : (id - servers) % ((2 * n) / racks));
  return {
    racks: { names: Array.from({ length: racks }, (_, i) => `R0${i}`) },
    devices: {
      rack: Int32Array.from(rack),
      unit: Int32Array.from(rack, (_, id) => (id < servers ? 1 + (inRack(id) >> 1) : 45 - (inRack(id) >> 2))),
      heightUnits: new Float64Array(devices).fill(1),
      slot: Int32Array.from(rack, (_, id) => inRack(id) % (id < servers ? 2 : 4)),
      slots: Int32Array.from(rack, (_, id) => (id < servers ? 2 : 4)),
    },
  } as unknown as PlanModel;
}

test.each([
  [4, 1],
  [8, 1],
  [8, 2],
  [16, 4],
] as const)(
  "every cable of a BCube(%i, 1) in %i racks is in sight beside its rack, and found there",
  (n, racks) => {
    const network = networkOf(bcube(n));
    const model = packed(n, racks);
    const layout = rackLayoutOf(network, model, 700, 420);
    expect(racksOf(network, model)).toEqual(Array.from({ length: racks }, (_, i) => i));
    expect(layout.frames).toHaveLength(racks);
    const nodes = Array.from({ length: network.servers + network.switches }, (_, node) =>
      boxOf(layout, node),
    );
    for (const [i, one] of nodes.entries()) {
      expect(one.x).toBeGreaterThanOrEqual(0);
      expect(one.x + one.width).toBeLessThanOrEqual(700);
      expect(one.y).toBeGreaterThanOrEqual(0);
      expect(one.y + one.height).toBeLessThanOrEqual(420);
      for (const other of nodes.slice(i + 1))
        expect(
          one.x + one.width <= other.x ||
            other.x + other.width <= one.x ||
            one.y + one.height <= other.y ||
            other.y + other.height <= one.y,
        ).toBe(true);
    }
    let found = 0;
    for (let link = 0; link < network.links; link++) {
      const { x, y } = pointOn(layout.curves, link, 0.5);
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x).toBeLessThanOrEqual(700);
      const hit = hitAt(network, layout, x, y);
      if (hit && "link" in hit && hit.link === link) found++;
    }
    // Where cables cross, another may be as near.
    expect(found).toBeGreaterThan(network.links * (racks === 1 ? 0.9 : 0.5));
  },
);

const tickAt = (at: number, received: number[]): Tick =>
  ({ at, secs: 0.1, received: Uint32Array.from(received), goodput: at }) as Tick;

test("an hour of ticks is few points, the first and the last among them, and they stay where they are", () => {
  const ticks = Array.from({ length: 36_000 }, (_, i) => tickAt(i / 10, [0]));
  const points = seriesOf(ticks, (tick) => tick.goodput);
  expect(points.length).toBeLessThanOrEqual(501);
  expect(points[0]!.x).toBe(0);
  expect(points.at(-1)!.x).toBe(3599.9);
  const fewer = new Set(seriesOf(ticks.slice(0, 30_000), (tick) => tick.goodput).map(({ x }) => x));
  expect(points.filter(({ x }) => x < 2999 && !fewer.has(x))).toEqual([]);
});

test("a dip of a tenth of a second shows in the curve of an hour", () => {
  const ticks = Array.from({ length: 36_000 }, (_, i) => ({
    ...tickAt(i / 10, [0]),
    goodput: i === 17_333 ? 1 : 9,
  }));
  expect(seriesOf(ticks, (tick) => tick.goodput)).toContainEqual({ x: 1733.3, y: 1 });
  expect(seriesOf([], (tick) => tick.goodput)).toEqual([]);
});

test("the strip holds mean rates, spread over the time they were measured in, and nothing where nothing was told", () => {
  const strip = stripOf(
    [
      tickAt(0.1, [100, 0]),
      tickAt(0.2, [300, 0]),
      { ...tickAt(3, [50, 50]), secs: 1 },
      tickAt(3.05, [10, 10]),
    ],
    2,
    (tick) => tick.received,
    0,
    4,
    4,
  );
  expect([...strip.values].map((value) => Math.round(value))).toEqual([
    16_000,
    Number.NaN,
    // A twentieth of a second that lies in here belongs to the tick after it.
    Math.round((50 * 8 + 10 * 4) / 1.05),
    Number.NaN,
    0,
    Number.NaN,
    Math.round((50 * 8 + 10 * 4) / 1.05),
    Number.NaN,
  ]);
});
