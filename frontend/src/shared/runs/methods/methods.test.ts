import { expect, test } from "vitest";
import type { Experiment } from "@/api/types";
import { type Answers, flowBytesOf, flowSeries, goodputSeries, sameQuestion, type Whole } from "./methods";

const experiment = (more: object) =>
  ({
    plan: { id: null, revision: null, spec: { family: "bcube", n: 4, k: 1 } },
    workload: { kind: "permutation" },
    routing: null,
    link_gbps: 0.02,
    faults: [],
    engine: "flow",
    topologies: [{ title: "BCube(4,1)" }],
    flow_gigabits: null,
    ...more,
  }) as unknown as Experiment;

test("the same question is asked of other methods and with other sizes of flows", () => {
  const flow = experiment({});
  const packet = experiment({ engine: "packet", workload: { bytes: 5, kind: "permutation" } });
  expect(sameQuestion(flow, packet)).toBe(true);
  const reordered = experiment({ plan: { id: "x", revision: 2, spec: { k: 1, n: 4, family: "bcube" } } });
  expect(sameQuestion(flow, reordered)).toBe(true);
  for (const other of [
    { workload: { kind: "incast" } },
    { link_gbps: 0.1 },
    { routing: "bsr" },
    { faults: [{ kind: "down" }] },
    { plan: { id: null, revision: null, spec: { family: "bcube", n: 4, k: 2 } } },
    { emulation: { slice: { within: "00" } } },
  ])
    expect(sameQuestion(flow, experiment(other))).toBe(false);
});

const packet = (flowBytes: number | null) => ({
  result: {
    series: { step_secs: 0.5, goodput_gbps: [1, 2] },
    completion_distribution: { share: [0.5, 1], secs: [1, 2] },
    choices: { default_bytes: 1_000_000 },
  } as unknown as Whole,
  flowBytes,
});
const answers = {
  flow: {
    maxmin: { total_gbps: 3, min_gbps: 0.1, p01_gbps: 0.1, median_gbps: 0.2, p99_gbps: 0.3, max_gbps: 0.3 },
  },
  packet: packet(125_000_000),
  emulation: {
    series: { at_secs: [1, 2, 3], goodput_bits_per_sec: [1e9, 2e9, 3e9] },
    per_flow: [{ goodput_bits_per_sec: 4e8 }, { goodput_bits_per_sec: 2e8 }],
  },
} as unknown as Answers;

test("three methods lie on one axis of time, the prediction to the end of the others", () => {
  const [flow, simulated, measured] = goodputSeries(answers);
  expect(flow!.points).toEqual([
    { x: 0, y: 3 },
    { x: 3, y: 3 },
  ]);
  expect(simulated!.points).toEqual([
    { x: 0.5, y: 1 },
    { x: 1, y: 2 },
  ]);
  expect(measured!.points.map(({ y }) => y)).toEqual([1, 2, 3]);
  const ends = { from_secs: [0, 4], gbps: [2, 0] };
  const sized = { ...answers, flow: { ...answers.flow, completion: { total_rate: ends } } } as Answers;
  expect(goodputSeries(sized)[0]).toMatchObject({ steps: true, points: [{ x: 0 }, { x: 4, y: 0 }] });
});

test("flows are told by their goodput, ascending, each share that of flows with at most so much", () => {
  for (const { points } of flowSeries(answers)) {
    expect(points).toEqual([...points].sort((a, b) => a.x - b.x || a.y - b.y));
    expect(points.at(-1)!.y).toBe(1);
  }
  // 1 Gb in 2 s is 0.5 Gb/s, of half of the flows; the others need 1 s.
  expect(flowSeries(answers)[1]!.points).toEqual([
    { x: 0.5, y: 0.5 },
    { x: 1, y: 1 },
  ]);
  expect(flowSeries({ packet: packet(null) })).toEqual([]);
});

test("the size of a simulation's flows is known where they are alike", () => {
  const { result } = packet(null);
  expect(flowBytesOf(experiment({}), result)).toBe(1_000_000);
  expect(flowBytesOf(experiment({ flow_gigabits: 0.8 }), result)).toBe(1e8);
  expect(flowBytesOf(experiment({ workload: { kind: "permutation", bytes: 7 } }), result)).toBe(7);
  expect(flowBytesOf(experiment({ workload: { kind: "matrix" } }), result)).toBeNull();
});
