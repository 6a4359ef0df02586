import { expect, test } from "vitest";
import { abtAt, COARSE, faultsOf, kindsOf, MOST, onGrid, type Prediction, STEP, slowestGbps } from "./points";

const point = (abt_gbps: number) => ({ abt_gbps }) as Prediction;

test("a share between two points is interpolated, and marked as such", () => {
  const points = new Map([
    [0, point(100)],
    [0.2, point(60)],
  ]);
  expect(abtAt(points, 0)).toEqual({ gbps: 100, between: null });
  expect(abtAt(points, 0.05)!.gbps).toBeCloseTo(90);
  expect(abtAt(points, 0.05)!.between).toEqual([0, 0.2]);
  points.set(0.1, point(50));
  expect(abtAt(points, 0.05)!.gbps).toBeCloseTo(75);
  expect(abtAt(points, 0.15)!.between).toEqual([0.1, 0.2]);
});

test("nothing is shown beyond the computed points", () => {
  expect(abtAt(new Map(), 0.1)).toBeNull();
  expect(abtAt(new Map([[0, point(1)]]), 0.1)).toBeNull();
});

test("every coarse share is a step of the slider", () => {
  for (const ratio of COARSE) expect(onGrid(ratio)).toBe(ratio);
  for (let step = 0; step * STEP <= MOST; step++) expect(onGrid(step * STEP)).toBe(step / 100);
});

test("a network without switches offers none", () => {
  expect(kindsOf({ switches: 5 }).map(({ value }) => value)).toEqual(["switch", "server", "link"]);
  expect(kindsOf({ switches: 0 }).map(({ value }) => value)).toEqual(["server", "link"]);
});

test("a fault for a share and for a rack, and no fault for no failure", () => {
  expect(faultsOf({ kind: "link", ratio: 0.1 })[0]).toMatchObject({
    target: { kind: "link", ratio: 0.1 },
  });
  expect(faultsOf({ rack: "R03" })[0]).toMatchObject({ target: { names: ["R03"] } });
  expect(faultsOf({ kind: "switch", ratio: 0 })).toEqual([]);
});

test("the compared network gets links as fast as the plan's servers have", () => {
  const rates = { abt_gbps: 1, link_gbps: { min: 10, max: 40 } } as unknown as Prediction;
  expect(slowestGbps(rates)).toBe(10);
  expect(slowestGbps({ abt_gbps: 0, link_gbps: null } as unknown as Prediction)).toBeNull();
});
