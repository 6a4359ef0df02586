/** What a comparison predicts about its plans: all to all at no failure, and what is left under failures, as rows. */
import type { CompareRow } from "@/api/types";
import type { ComparedRef } from "../shared/refs";
import {
  type Curve,
  curvesOf,
  type FailureKind,
  METRICS,
  type Metric,
  type Point,
} from "../shared/run-points";
import type { JsonObject } from "../shared/spec";

export const RATIOS = [0, 0.05, 0.1, 0.2];
export const KINDS: readonly FailureKind[] = ["server", "switch"];
/** The share of failures that the rows speak of; the charts show the others. */
export const ROW_RATIO = 0.1;
/** The first draws the curves, the second shows how far they may move. */
const SEEDS = 2;
const GROUP = "All to all, predicted";

const metricOf = (id: Metric["id"]): Metric => METRICS.find((metric) => metric.id === id)!;
export const ABT = metricOf("abt");
export const DROPPED = metricOf("dropped");

/** One sweep over all the plans. It does not say which is the base, so that another base is the same question. */
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
  const [abt, dropped, most] = [ABT, DROPPED, metricOf("most")].map((metric) =>
    curvesOf(points, metric.of),
  ) as [Curve[], Curve[], Curve[]];
  const percent = `${ROW_RATIO * 100}\u00a0%`;
  return [
    rowOf(
      { metric: "abt", title: "ABT, no failure", unit: "Gbit/s", better: "higher" },
      valuesAt(abt, "server", 0, plans),
      base,
    ),
    rowOf(
      {
        metric: "bottleneck_degree",
        title: "Bottleneck degree, flows on the fullest link",
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
          { metric: `abt_${kind}`, title: `ABT, ${failed}`, unit: "Gbit/s", better: "higher" },
          valuesAt(abt, kind, ROW_RATIO, plans),
          base,
        ),
        rowOf(
          { metric: `dropped_${kind}`, title: `Flows dropped, ${failed}`, unit: "share", better: "lower" },
          valuesAt(dropped, kind, ROW_RATIO, plans),
          base,
        ),
      ];
    }),
  ];
}
