import { expect, test } from "vitest";
import type { PlanModel } from "@/scene/model";
import type { NetworkFrame } from "../../session/frames";
import { networkOf } from "../../session/network";
import { boxOf, hitAt, pointOn } from "./layout";
import { rackLayoutOf, racksOf } from "./racks";

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

/**
 * BCube(n, 1) as plans pack it: two servers to a unit from below, four switches to a unit at the
 * top.
 */
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
    for (const [i, item] of nodes.entries()) {
      expect(item.x).toBeGreaterThanOrEqual(0);
      expect(item.x + item.width).toBeLessThanOrEqual(700);
      expect(item.y).toBeGreaterThanOrEqual(0);
      expect(item.y + item.height).toBeLessThanOrEqual(420);
      for (const other of nodes.slice(i + 1))
        expect(
          item.x + item.width <= other.x ||
            other.x + other.width <= item.x ||
            item.y + item.height <= other.y ||
            other.y + other.height <= item.y,
        ).toBe(true);
    }
    let hits = 0;
    for (let link = 0; link < network.links; link++) {
      const { x, y } = pointOn(layout, link, 0.5);
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x).toBeLessThanOrEqual(700);
      const hit = hitAt(network, layout, x, y);
      if (hit && "link" in hit && hit.link === link) hits++;
    }
    // Where cables cross, another may be as near.
    expect(hits).toBeGreaterThan(network.links * (racks === 1 ? 0.9 : 0.5));
  },
);
