import { describe, expect, it } from "vitest";
import type { SceneDocument } from "./document";
import { logicalLayout } from "./logical/layout";
import { logicalList } from "./logical/list";
import { createModel, type PlanModel } from "./model";
import { sampleBcube } from "./testing/sample-plan";

/** A plan of one rack with just these devices and links: enough for the logical view. */
function planOf(
  family: string,
  servers: readonly string[],
  switches: readonly [string, number][],
  links: readonly [number, number, number][],
  n = 4,
): PlanModel {
  const { scene } = sampleBcube(2, 2);
  const count = servers.length + switches.length;
  const fill = <T>(value: T) => new Array<T>(count).fill(value);
  const devices: SceneDocument["devices"] = {
    name: [...servers, ...switches.map(([name]) => name)],
    host: [...servers, ...switches.map(([name]) => name)],
    kind: [...servers.map(() => 0), ...switches.map(() => 1)],
    level: [...servers.map(() => -1), ...switches.map(([, level]) => level)],
    rack: fill(0),
    unit: fill(1),
    height_units: fill(1),
    slot: fill(0),
    slots: fill(1),
    part: fill(0),
    port_count: fill(4),
  };
  const zero = links.map(() => 0);
  return createModel(
    { ...scene, devices },
    {
      count: links.length,
      offset: 0,
      routes: ["in rack"],
      colours: [],
      parts: [],
      columns: {
        a_device: links.map(([a]) => a),
        b_device: links.map(([, b]) => b),
        level: links.map(([, , level]) => level),
        a_port: zero,
        b_port: zero,
        route: zero,
        length_mm: zero,
        stock_mm: zero,
        part: zero,
        colour: zero,
        bundle: zero.map(() => -1),
      },
    },
    { family, n },
  );
}

function distinct(model: PlanModel): void {
  const { x, y } = logicalLayout(model);
  const places = new Set(Array.from(x, (value, i) => `${value.toFixed(3)},${y[i]!.toFixed(3)}`));
  expect(places.size).toBe(model.devices.count);
}

function dcell(n: number): PlanModel {
  const servers: string[] = [];
  for (let a = 0; a <= n; a++) for (let b = 0; b < n; b++) servers.push(`[${a},${b}]`);
  const switches = Array.from({ length: n + 1 }, (_, a): [string, number] => [`<${a}>`, 0]);
  const links = servers.map((_, i): [number, number, number] => [i, servers.length + Math.floor(i / n), 0]);
  return planOf("dcell", servers, switches, links);
}

describe("logical layouts", () => {
  it("give DCell servers a ring around their switch", () => {
    for (const n of [2, 4, 8, 13]) {
      const model = dcell(n);
      const { x, y } = logicalLayout(model);
      distinct(model);
      const servers = n * (n + 1);
      for (let cell = 0; cell <= n; cell++) {
        const middle = servers + cell;
        const radii = Array.from({ length: n }, (_, i) =>
          Math.hypot(x[cell * n + i]! - x[middle]!, y[cell * n + i]! - y[middle]!),
        );
        for (const radius of radii) expect(radius).toBeCloseTo(radii[0]!, 4);
        expect(radii[0]).toBeGreaterThan(0.5);
      }
    }
  });

  it("keep torus layers apart, whatever their size", () => {
    for (const [sx, sy, sz] of [
      [2, 2, 2],
      [5, 3, 7],
      [1, 4, 9],
    ] as const) {
      const names: string[] = [];
      for (let x = 0; x < sx; x++)
        for (let y = 0; y < sy; y++) for (let z = 0; z < sz; z++) names.push(`(${x},${y},${z})`);
      const model = planOf("torus3d", names, [], []);
      distinct(model);
      const { groups } = logicalLayout(model);
      expect(groups.map((group) => group.label).sort()).toEqual(
        Array.from({ length: sz }, (_, z) => `z = ${z}`).sort(),
      );
      for (const a of groups)
        for (const b of groups) {
          if (a === b) continue;
          const apart =
            a.box.x >= b.box.x + b.box.width ||
            b.box.x >= a.box.x + a.box.width ||
            a.box.y >= b.box.y + b.box.height ||
            b.box.y >= a.box.y + a.box.height;
          expect(apart).toBe(true);
        }
    }
  });

  it("stand tiers above each other and servers below their switch", () => {
    const model = planOf(
      "tree",
      ["0.0", "0.1", "1.0", "1.1"],
      [
        ["<0,0>", 0],
        ["<0,1>", 0],
        ["<1,0>", 1],
      ],
      [
        [0, 4, 0],
        [1, 4, 0],
        [2, 5, 0],
        [3, 5, 0],
        [4, 6, 1],
        [5, 6, 1],
      ],
    );
    distinct(model);
    const { x, y } = logicalLayout(model);
    expect(y[0]).toBeGreaterThan(y[4]!);
    expect(y[4]).toBeGreaterThan(y[6]!);
    expect(y[4]).toBe(y[5]);
    expect((x[0]! + x[1]!) / 2).toBeLessThan((x[2]! + x[3]!) / 2);
  });

  it("fall back to layers when names do not fit the family", () => {
    const model = planOf(
      "bcube",
      ["a", "b"],
      [["<0,x>", 0]],
      [
        [0, 2, 0],
        [1, 2, 0],
      ],
    );
    expect(logicalLayout(model).link).toBe("flow");
    distinct(model);
  });

  it("draw BCube for any n and k from names alone", () => {
    for (const n of [2, 3, 11]) {
      const separator = n > 10 ? "." : "";
      const servers: string[] = [];
      for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) servers.push([a, b].join(separator));
      const switches: [string, number][] = [0, 1].flatMap((level) =>
        Array.from({ length: n }, (_, i): [string, number] => [`<${level},${i}>`, level]),
      );
      const model = planOf("bcube", servers, switches, [], n);
      expect(logicalLayout(model).link).toBe("arc");
      distinct(model);
    }
  });
});

describe("networks on circles and grids", () => {
  it("draws a 2D torus as one grid", () => {
    const model = planOf(
      "torus2d",
      ["(0,0)", "(0,1)", "(1,0)", "(1,1)"],
      [],
      [
        [0, 1, 0],
        [1, 3, 1],
        [3, 2, 0],
        [2, 0, 1],
      ],
    );
    distinct(model);
    expect(logicalLayout(model).groups).toHaveLength(1);
  });

  it("draws a dragonfly by its groups, each server at its router", () => {
    const servers = ["0.0.0", "0.1.0", "1.0.0", "1.1.0"];
    const routers: [string, number][] = [
      ["<0,0.0>", 0],
      ["<0,0.1>", 0],
      ["<0,1.0>", 0],
      ["<0,1.1>", 0],
    ];
    const model = planOf("dragonfly", servers, routers, [
      [0, 4, 0],
      [1, 5, 0],
      [2, 6, 0],
      [3, 7, 0],
      [4, 5, 1],
      [6, 7, 1],
      [5, 6, 2],
    ]);
    distinct(model);
    const layout = logicalLayout(model);
    expect(layout.groups.map((group) => group.label)).toEqual(["Group 0", "Group 1"]);
    expect(layout.groupOf[0]).toBe(layout.groupOf[4]);
    expect(layout.groupOf[3]).not.toBe(layout.groupOf[0]);
  });

  it("draws a Jellyfish on a circle and a custom network by its tiers, the same every time", () => {
    for (const family of ["jellyfish", "custom"]) {
      const plan = () =>
        planOf(
          family,
          ["a", "b", "c"],
          [
            ["x", 0],
            ["y", 0],
            ["z", 1],
          ],
          [
            [0, 3, 0],
            [1, 4, 0],
            [2, 4, 0],
            [3, 5, 1],
            [4, 5, 1],
          ],
        );
      distinct(plan());
      expect(logicalLayout(plan()).x).toEqual(logicalLayout(plan()).x);
      // No parts stand out in a Jellyfish: its links are drawn where others have trunks.
      const { drawn, total } = logicalList(plan(), { colourBy: "power", linksMode: "trunk", aspect: 1.5 });
      expect([drawn, total]).toEqual([5, 5]);
    }
  });
});
