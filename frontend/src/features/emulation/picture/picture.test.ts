import { expect, test } from "vitest";
import { HEAT_CLASSES } from "@/scene";
import type { Tick } from "../session/frames";
import { seriesOf, stripOf } from "../session/series";
import { loadClass } from "./topology-paint";

test("the class of a load grows with the share of the rate and never leaves the ramp", () => {
  expect(loadClass(0, 0.1, 1e8)).toBe(0);
  expect(loadClass(1, 0.1, 1e8)).toBe(1);
  expect(loadClass(1.25e6 * 0.55, 0.1, 1e8)).toBe(6);
  expect(loadClass(1.25e6, 0.1, 1e8)).toBe(HEAT_CLASSES);
  expect(loadClass(9e9, 0.1, 1e8)).toBe(HEAT_CLASSES);
});

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
