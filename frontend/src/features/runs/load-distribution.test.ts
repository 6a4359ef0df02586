import { expect, test } from "vitest";
import { loadDistribution } from "./load-distribution";

const label = (level: number) => `level ${level}`;

test("a curve says which share of a level's link directions carries at most a number of flows", () => {
  const load = { a_to_b: [4, 0, 7, 7], b_to_a: [2, 4, 7, 9] };
  const [servers, uplinks, ...rest] = loadDistribution(load, [0, 0, 1, 1], label);
  expect(rest).toEqual([]);
  expect(servers).toMatchObject({ id: "0", label: "level 0", look: 0, steps: true });
  // Directions of level 0 carry 0, 2, 4 and 4 flows; those of level 1 carry 7, 7, 7 and 9.
  expect(servers!.points).toEqual([
    { x: 0, y: 0.25 },
    { x: 2, y: 0.5 },
    { x: 4, y: 1 },
    { x: 7, y: 1 },
    { x: 9, y: 1 },
  ]);
  expect(uplinks!.points.map(({ y }) => y)).toEqual([0, 0, 0, 0.75, 1]);
});

test("of many different loads few are read, each exactly", () => {
  const count = 5000;
  // No order and no even spacing: squares, shuffled by a step that is prime to their number.
  const a_to_b = Array.from({ length: count }, (_, i) => ((i * 1777) % count) ** 2);
  const load = { a_to_b, b_to_a: a_to_b.map((flows) => flows + 1) };
  const series = loadDistribution(load, new Uint8Array(count), label);
  expect(series).toHaveLength(1);
  const { points } = series[0]!;
  expect(points.length).toBeLessThanOrEqual(241);
  expect(points.at(-1)).toEqual({ x: (count - 1) ** 2 + 1, y: 1 });
  const all = [...load.a_to_b, ...load.b_to_a];
  let before = { x: -1, y: 0 };
  for (const point of points) {
    expect(point.y).toBe(all.filter((flows) => flows <= point.x).length / all.length);
    expect(point.x).toBeGreaterThan(before.x);
    expect(point.y - before.y).toBeLessThan(0.005);
    before = point;
  }
});

test("curves begin at no share just before the least load", () => {
  const [even] = loadDistribution({ a_to_b: [127, 127], b_to_a: [127, 127] }, [0, 0], label);
  expect(even!.points).toEqual([
    { x: 126, y: 0 },
    { x: 127, y: 1 },
  ]);
  const [wide] = loadDistribution({ a_to_b: [1700], b_to_a: [2099] }, [0], label);
  expect(wide!.points).toEqual([
    { x: 1684, y: 0 },
    { x: 1700, y: 0.5 },
    { x: 2099, y: 1 },
  ]);
});

test("no links, no curve", () => {
  expect(loadDistribution({ a_to_b: [], b_to_a: [] }, [], label)).toEqual([]);
});
