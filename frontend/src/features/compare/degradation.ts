/**
 * The predictions of a comparison as rows: all to all without failures, and the remaining
 * throughput under failures.
 */
import type { CompareRow } from "@/api/types";
import type { ComparedRef } from "@/shared/plans/refs";
import type { JsonObject } from "@/shared/plans/spec";
import {
  type Answer,
  type Curve,
  curvesOf,
  type FailureKind,
  METRICS,
  type Metric,
  type Point,
} from "@/shared/runs/run-points";

export const RATIOS = [0, 0.05, 0.1, 0.2];
export const KINDS: readonly FailureKind[] = ["server", "switch"];
/** The share of failures that the rows speak of; the charts show the others. */
export const ROW_RATIO = 0.1;
/** The first draws the curves, the second shows how far they may move. */
const SEEDS = 2;
const GROUP = "All to all, predicted";

const metricOf = (id: Metric["id"]): Metric => METRICS.find((metric) => metric.id === id)!;
export const ABT = metricOf("abt");

const shareOf = (flows: (result: Answer) => number): Metric["of"] => {
  return (result) => {
    const all = result.flows + result.dropped_flows;
    return all > 0 ? flows(result) / all : 0;
  };
};

/**
 * Flows that fail because one of their servers failed: their number depends on the random draw
 * only, not on the topology.
 */
export const OF_DEAD: Metric = {
  ...metricOf("dropped"),
  title: "Flows of failed servers",
  subject: "Flows of failed servers",
  of: shareOf(({ dropped }) => dropped.end_failed),
};
/** Flows that the topology and its routing lost: both servers are alive. */
export const CUT_OFF: Metric = {
  ...metricOf("dropped"),
  title: "Flows cut off between live servers",
  subject: "Flows cut off between live servers",
  of: shareOf(({ dropped }) => dropped.no_path),
};

/** A point of one plan, which the quick prediction computes and the long run may also contain. */
export interface Question {
  topology: number;
  kind: FailureKind;
  ratio: number;
}

/** The points of the rows; those without failures come first, because users look at them first. */
export function questionsOf(plans: number): Question[] {
  const each = (kind: FailureKind, ratio: number) =>
    Array.from({ length: plans }, (_, topology) => ({ topology, kind, ratio }));
  return [...each("server", 0), ...KINDS.flatMap((kind) => each(kind, ROW_RATIO))];
}

const sameQuestion = (a: Question, b: Pick<Point, "topology" | "kind" | "ratio">) =>
  a.topology === b.topology && a.kind === b.kind && Math.abs(a.ratio - (b.ratio ?? 0)) < 1e-9;

/** The run's points, and the quick prediction's where the run has none yet. */
export function withQuick(run: readonly Point[], quick: readonly (Question & Point)[]): Point[] {
  return [...run, ...quick.filter((item) => !run.some((point) => sameQuestion(item, point)))];
}

/**
 * One sweep over all the plans. It does not name the base, so changing the base does not change the
 * request.
 */
export function sweepOf(refs: readonly ComparedRef[]): JsonObject {
  const plans = refs.map(({ id, revision, spec }) => (id ? { id, ...(revision && { revision }) } : spec!));
  return {
    plan: plans[0]!,
    workload: { kind: "all-to-all" },
    axes: {
      topologies: plans,
      failure: KINDS.map((kind) => ({ kind, ratios: RATIOS })),
      seeds: SEEDS,
    },
  };
}

/** The mean over the seeds so far, by plan; null where nothing was computed yet. */
function valuesAt(
  curves: readonly Curve[],
  kind: FailureKind,
  ratio: number,
  plans: number,
): (number | null)[] {
  return Array.from({ length: plans }, (_, topology) => {
    const curve = curves.find((c) => c.kind === kind && c.topology === topology);
    return curve?.points.find((point) => Math.abs(point.ratio - ratio) < 1e-9)?.mean ?? null;
  });
}

/** A row like the server's own: changes against the base, and which plans do best. */
export function rowOf(
  row: Pick<CompareRow, "metric" | "title" | "unit" | "better">,
  values: (number | null)[],
  base: number,
): CompareRow {
  const against = values[base] ?? null;
  const known = values.filter((value) => value !== null);
  const target = row.better === "higher" ? Math.max(...known) : Math.min(...known);
  const equal = known.every((value) => value === known[0]);
  return {
    ...row,
    group: GROUP,
    values,
    exact: values.map(() => null),
    notes: values.map(() => ""),
    deltas: values.map((value) => (value === null || against === null ? null : value - against)),
    ratios: values.map((value) => (value === null || !against ? null : value / against)),
    best:
      row.better === "neither" || equal || known.length < values.length
        ? []
        : values.flatMap((value, at) => (value === target ? [at] : [])),
  };
}

export function predictedRows(points: readonly Point[], plans: number, base: number): CompareRow[] {
  const [abt, dead, cut, most] = [ABT, OF_DEAD, CUT_OFF, metricOf("most")].map((metric) =>
    curvesOf(points, metric.of),
  ) as [Curve[], Curve[], Curve[], Curve[]];
  const percent = `${ROW_RATIO * 100}\u00a0%`;
  return [
    rowOf(
      { metric: "abt", title: "ABT, no failure", unit: "Gb/s", better: "higher" },
      valuesAt(abt, "server", 0, plans),
      base,
    ),
    rowOf(
      {
        metric: "bottleneck_degree",
        title: "Bottleneck degree, flows on the most loaded link",
        unit: "",
        better: "lower",
      },
      valuesAt(most, "server", 0, plans),
      base,
    ),
    ...KINDS.flatMap((kind) => {
      const failed = `${percent} of ${kind === "server" ? "servers" : "switches"} failed`;
      return [
        rowOf(
          { metric: `abt_${kind}`, title: `ABT, ${failed}`, unit: "Gb/s", better: "higher" },
          valuesAt(abt, kind, ROW_RATIO, plans),
          base,
        ),
        rowOf(
          { metric: `cut_off_${kind}`, title: `${CUT_OFF.title}, ${failed}`, unit: "share", better: "lower" },
          valuesAt(cut, kind, ROW_RATIO, plans),
          base,
        ),
        // Switches take no flow's end with them.
        ...(kind === "server"
          ? [
              rowOf(
                {
                  metric: "end_failed_server",
                  title: `${OF_DEAD.title}, ${failed}`,
                  unit: "share",
                  better: "neither",
                },
                valuesAt(dead, kind, ROW_RATIO, plans),
                base,
              ),
            ]
          : []),
      ];
    }),
  ];
}
