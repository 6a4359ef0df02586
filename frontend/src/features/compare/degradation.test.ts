import { expect, test } from "vitest";
import type { Point } from "@/shared/runs/run-points";
import { predictedRows, questionsOf, rowOf, sweepOf, withQuick } from "./degradation";

const point = (
  topology: number,
  kind: "server" | "switch",
  ratio: number,
  seed: number,
  abt: number,
): Point =>
  ({
    point: 0,
    topology,
    seed,
    kind,
    ratio,
    result: {
      abt_gbps: abt,
      flows: 90,
      dropped_flows: ratio * 100,
      dropped: { end_failed: ratio * 80, no_path: ratio * 20 },
      max_link_flows: 10 + topology,
    },
  }) as unknown as Point;

test("the question is the same whichever plan is the base", () => {
  const refs = [
    { ref: "a", id: "a", revision: 2 },
    { ref: "z.x", spec: { topology: { family: "tree" } } },
  ];
  const sweep = sweepOf(refs);
  expect(sweep.plan).toEqual({ id: "a", revision: 2 });
  expect(sweep).toHaveProperty("axes.topologies", [
    { id: "a", revision: 2 },
    { topology: { family: "tree" } },
  ]);
});

test("rows are means over the seeds so far, against the base", () => {
  const points = [
    point(0, "server", 0, 7, 100),
    point(0, "server", 0, 8, 110),
    point(1, "server", 0, 7, 50),
    point(0, "server", 0.1, 7, 90),
  ];
  const rows = predictedRows(points, 2, 0);
  const row = (metric: string) => rows.find((r) => r.metric === metric)!;
  expect(row("abt")).toMatchObject({ values: [105, 50], deltas: [0, -55], best: [0] });
  expect(row("bottleneck_degree")).toMatchObject({ values: [10, 11], best: [0] });
  // The other plan's point is not computed yet, so no plan is best.
  expect(row("abt_server")).toMatchObject({ values: [90, null], deltas: [0, null], best: [] });
  // A dead server's own flows are counted separately from those that the network cut off.
  expect(row("cut_off_server").values[0]).toBeCloseTo(0.02);
  expect(row("end_failed_server").values[0]).toBeCloseTo(0.08);
  expect(row("end_failed_server")).toMatchObject({ better: "neither", best: [] });
  expect(row("abt_switch").values).toEqual([null, null]);
});

test("quick points stand until the run has the same ones", () => {
  const quick = questionsOf(2).map((question) => ({
    ...point(question.topology, question.kind as "server", question.ratio, 7, 40),
    ...question,
  }));
  expect(quick.map(({ topology, ratio }) => [topology, ratio]).slice(0, 2)).toEqual([
    [0, 0],
    [1, 0],
  ]);
  const alone = predictedRows(withQuick([], quick), 2, 0);
  expect(alone.every(({ values }) => values.every((value) => value !== null))).toBe(true);
  const refined = predictedRows(withQuick([point(0, "server", 0, 8, 100)], quick), 2, 0);
  expect(refined.find(({ metric }) => metric === "abt")!.values).toEqual([100, 40]);
});

test("equal plans have no best, and a base of nothing has no ratio", () => {
  const what = { metric: "x", title: "X", unit: "", better: "lower" } as const;
  expect(rowOf(what, [0, 0], 0).best).toEqual([]);
  expect(rowOf(what, [0, 4], 0)).toMatchObject({ ratios: [null, null], deltas: [0, 4], best: [0] });
});
