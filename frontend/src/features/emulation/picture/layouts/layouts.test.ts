import { expect, test } from "vitest";
import type { NetworkFrame } from "../../session/frames";
import { type Network, networkOf, nodeName } from "../../session/network";
import OUTLINES from "../testing/outlines.json";
import { boxOf, hitAt, type Layout, pointOn } from "./layout";
import { layoutOf } from "./layout-of";

type Outline = Pick<NetworkFrame, "family" | "picture" | "servers" | "switches" | "links">;

const network = (outline: Outline): Network =>
  networkOf({
    ...outline,
    rate_bits_per_sec: 1e8,
    flows: { source: [], destination: [], ideal_bits_per_sec: [] },
  } as unknown as NetworkFrame);

const NETWORKS = Object.entries(OUTLINES as unknown as Record<string, Outline>);
const SIZES = [
  [420, 320],
  [700, 400],
  [1300, 760],
] as const;
const CASES = NETWORKS.flatMap(([name, outline]) =>
  SIZES.map(([width, height]) => ({ name, outline, width, height })),
);

const nodesOf = ({ servers, switches }: Network) =>
  Array.from({ length: servers + switches }, (_, node) => node);
/** Tolerance for rounding. */
const SLACK_PX = 0.01;

test.each(CASES)("$name in $width x $height: every node is in the picture and overlaps no other", (given) => {
  const of = network(given.outline);
  const layout = layoutOf(of, given.width, given.height);
  const boxes = nodesOf(of).map((node) => boxOf(layout, node));
  for (const { x, y, width, height } of boxes) {
    expect(width).toBeGreaterThan(2);
    expect(height).toBeGreaterThan(2);
    expect(x).toBeGreaterThanOrEqual(0);
    expect(y).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(given.width);
    expect(y + height).toBeLessThanOrEqual(given.height);
  }
  const overlapping = boxes.flatMap((box, i) =>
    boxes
      .slice(i + 1)
      .filter(
        (other) =>
          box.x < other.x + other.width - SLACK_PX &&
          other.x < box.x + box.width - SLACK_PX &&
          box.y < other.y + other.height - SLACK_PX &&
          other.y < box.y + box.height - SLACK_PX,
      ),
  );
  expect(overlapping).toEqual([]);
});

test.each(CASES)("$name in $width x $height: every link is in the picture and joins its ends", (given) => {
  const of = network(given.outline);
  const layout = layoutOf(of, given.width, given.height);
  const near = (node: number, { x, y }: { x: number; y: number }) => {
    const box = boxOf(layout, node);
    return x >= box.x - 1 && x <= box.x + box.width + 1 && y >= box.y - 1 && y <= box.y + box.height + 1;
  };
  for (let link = 0; link < of.links; link++) {
    expect(near(of.a[link]!, pointOn(layout, link, 0))).toBe(true);
    expect(near(of.b[link]!, pointOn(layout, link, 1))).toBe(true);
    for (let i = 0; i <= 20; i++) {
      const { x, y } = pointOn(layout, link, i / 20);
      expect(x).toBeGreaterThanOrEqual(0);
      expect(y).toBeGreaterThanOrEqual(0);
      expect(x).toBeLessThanOrEqual(given.width);
      expect(y).toBeLessThanOrEqual(given.height);
    }
  }
});

test.each(CASES)("$name in $width x $height: every node and every link can be pointed at", (given) => {
  const of = network(given.outline);
  const layout = layoutOf(of, given.width, given.height);
  for (const node of nodesOf(of)) {
    const { x, y, width, height } = boxOf(layout, node);
    expect(hitAt(of, layout, x + width / 2, y + height / 2)).toEqual({ node });
  }
  const unreachable = [];
  for (let link = 0; link < of.links; link++) {
    const reached = Array.from({ length: 41 }, (_, i) => pointOn(layout, link, i / 40)).some(({ x, y }) => {
      const hit = hitAt(of, layout, x, y);
      return hit !== null && "link" in hit && hit.link === link;
    });
    if (!reached) unreachable.push(link);
  }
  expect(unreachable).toEqual([]);
});

/** Where each thing is, by name. */
const placesOf = (of: Network, layout: Layout) =>
  Object.fromEntries(nodesOf(of).map((node) => [nodeName(of, node), boxOf(layout, node)]));

test.each(NETWORKS)("places in %s follow digits, not the order of rows", (_, outline) => {
  const backwards = <Columns extends object>(columns: Columns) =>
    Object.fromEntries(
      Object.entries(columns).map(([name, list]) => [name, (list as unknown[]).toReversed()]),
    ) as unknown as Columns;
  const given = network(outline);
  const turned = network({
    ...outline,
    servers: backwards(outline.servers),
    switches: backwards(outline.switches),
    links: backwards(outline.links),
  });
  const [places, others] = [given, turned].map((of) => placesOf(of, layoutOf(of, 700, 400)));
  for (const [name, { x, y, width, height }] of Object.entries(places!)) {
    expect(others![name]!.x).toBeCloseTo(x, 2);
    expect(others![name]!.y).toBeCloseTo(y, 2);
    expect([others![name]!.width, others![name]!.height]).toEqual([width, height]);
  }
});

test("a slice has its servers alone, in the whole picture", () => {
  const whole = (OUTLINES as unknown as Record<string, Outline>)["DCell(2, 2)"]!;
  const rows = whole.servers.digits!.flatMap((digits, row) => (digits[0] === 2 ? [row] : []));
  const ids = rows.map((row) => whole.servers.id[row]!);
  const none = { id: [], a: [], b: [], a_port: [], b_port: [], level: [] };
  const of = network({
    ...whole,
    servers: {
      id: ids,
      name: rows.map((row) => whole.servers.name[row]!),
      digits: rows.map((row) => whole.servers.digits![row]!),
    },
    switches: { id: [], name: [], level: [], digits: [] },
    links: none,
  });
  const layout = layoutOf(of, 700, 400);
  const middles = nodesOf(of).map((node) => boxOf(layout, node).x);
  expect(Math.max(...middles) - Math.min(...middles)).toBeGreaterThan(300);
});

test("cables between servers of groups are arcs, and those around the edge of a grid are stubs", () => {
  const dcell = network((OUTLINES as unknown as Record<string, Outline>)["DCell(4, 1)"]!);
  expect(layoutOf(dcell, 700, 400).stubs.size).toBe(0);
  const torus = network((OUTLINES as unknown as Record<string, Outline>)["torus 4x4x4"]!);
  // A ring of 4 along each axis through each of the 16 places across it: one of its cables goes
  // around.
  expect(layoutOf(torus, 1300, 300).stubs.size).toBe(3 * 16);
  // With two planes below two others, so do those from one pair to the other.
  expect(layoutOf(torus, 700, 400).stubs.size).toBe(4 * 16);
});

test("a run recorded before frames carried digits and a picture has its switches in tiers", () => {
  const { servers, switches, links, family } = (OUTLINES as unknown as Record<string, Outline>)[
    "BCube(4, 1)"
  ]!;
  const old = network({
    family,
    servers: { id: servers.id, name: servers.name },
    switches: { id: switches.id, name: switches.name },
    links,
  });
  const layout = layoutOf(old, 700, 400);
  expect(layout.tiers.map(({ label }) => label)).toEqual(["Level 1", "Level 0", "Servers"]);
});
