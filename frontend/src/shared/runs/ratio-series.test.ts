import { expect, test } from "vitest";
import { ratioSeries } from "./ratio-series";

const point = (ratio: number) => ({ ratio, mean: 1, low: 1, high: 1, seeds: 1 });

test("a failure rate that is not computed yet is a gap in its line, not a straight line over it", () => {
  const curves = [
    { kind: "switch" as const, topology: 0, points: [0, 0.1, 0.2].map(point) },
    { kind: "switch" as const, topology: 1, points: [0, 0.2].map(point) },
  ];
  const [whole, broken] = ratioSeries(curves, ["BCube", "DCell"], [0, 0.1, 0.2]);
  expect(whole!.points.some(({ gap }) => gap)).toBe(false);
  expect(broken!.points.map(({ gap }) => gap ?? false)).toEqual([false, true]);
});
