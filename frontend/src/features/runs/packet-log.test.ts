import { expect, test } from "vitest";
import type { Run } from "@/api/types";
import {
  columnSeries,
  completionSeries,
  emptyPacketLog,
  limitSeries,
  queueSeries,
  reducePackets,
  type Simulated,
  type Simulating,
  type SoFar,
  shownOf,
} from "./packet-log";

const run = {
  state: "running",
  reason: "",
  progress: 0,
  points_done: 0,
  points_total: 2,
  remaining_secs: null,
} as unknown as Run;
const soFar = {
  completion_distribution: { share: [0.5, 1], secs: [0.2, 0.4] },
  series: { step_secs: 0.1, goodput_gbps: [1, 2], drops: [0, 3], timeouts: [0, 0], finished: [0, 1] },
} as unknown as SoFar;
const event = (name: string, data: unknown) => ({ event: name, data: JSON.stringify(data), id: "1" });

test("what is being computed is shown until its point is whole", () => {
  const simulating = { point: 0, result: soFar } as Simulating;
  let log = reducePackets(emptyPacketLog(run), [event("simulating", simulating)]);
  expect(shownOf(log, undefined)?.result).toEqual(soFar);
  const whole = { point: 0, seed: 7, result: { ...soFar, choices: {} } } as unknown as Simulated;
  log = reducePackets(log, [event("simulation", whole), event("simulating", { ...simulating, point: 1 })]);
  expect(log.live.points_done).toBe(1);
  expect(shownOf(log, undefined)?.point).toBe(1);
  expect(shownOf(log, 0)).toEqual(whole);
  log = reducePackets(log, [event("simulation", { ...whole, point: 1 })]);
  expect(shownOf(log, undefined)?.point).toBe(0);
});

test("the prediction stands beside what was simulated, where there is one", () => {
  expect(completionSeries(soFar).map(({ id }) => id)).toEqual(["simulated"]);
  const predicted = { flows: 2, median: 0.1, max: 0.2, share: [1], secs: [0.2] };
  const both = completionSeries({ ...soFar, choices: {}, predicted } as unknown as SoFar);
  expect(both.map(({ points }) => points.at(-1))).toEqual([
    { x: 0.4, y: 1 },
    { x: 0.2, y: 1 },
  ]);
});

test("columns stand at the ends of their steps", () => {
  expect(columnSeries(soFar, "drops", "Drops", soFar.series.drops).points).toEqual([
    { x: 0.1, y: 0 },
    { x: 0.2, y: 3 },
  ]);
  expect(columnSeries(soFar, "queue", "Queue", undefined).points).toEqual([]);
});

test("with congestion notices the queue's aim stands beside it, and limits only while there are some", () => {
  const series = { ...soFar.series, queue_bytes: [10, 30], limit_gbps: [null, 0.5] };
  const result = { ...soFar, series, choices: { qcn_queue_bytes: 20 } } as unknown as SoFar;
  expect(queueSeries(result).map(({ points }) => points.map(({ y }) => y))).toEqual([
    [10, 30],
    [20, 20],
  ]);
  expect(queueSeries({ ...soFar, series } as unknown as SoFar)).toHaveLength(1);
  expect(limitSeries(result).points).toEqual([{ x: 0.2, y: 0.5 }]);
  expect(limitSeries(soFar).points).toEqual([]);
});
