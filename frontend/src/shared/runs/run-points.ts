/**
 * A run's points as they come: results by number, and the curves over failure ratio that they make.
 * No drawing.
 */
import type { ServerEvent } from "@/api/events";
import type { Experiment, PointFrame, Run } from "@/api/types";
import type { PlanSpec } from "@/shared/plans/spec";
import { formatGbps, formatNumber, formatPercent, formatShort } from "@/units";
import { type LiveRun, liveRun } from "./runs";

/** A point's answer without its links. */
export type Answer = Pick<
  PointFrame["result"],
  | "abt_gbps"
  | "flows"
  | "dropped_flows"
  | "dropped"
  | "max_link_flows"
  | "link_flows_by_level"
  | "path_hops"
  | "failures"
  | "maxmin"
  | "completion"
  | "routing"
  | "seed"
  | "engine_version"
>;

/** Flows on each direction, by link; a link's index is its cable's. */
export interface LinkLoad {
  a_to_b: ArrayLike<number>;
  b_to_a: ArrayLike<number>;
}

export type FailureKind = NonNullable<PointFrame["failure_kind"]>;

export interface Point {
  point: number;
  topology: number;
  seed: number;
  kind: FailureKind | null;
  ratio: number | null;
  /** Without its link loads: those are kept apart, as far as there is room. */
  result: Answer;
}

export interface RunLog {
  live: LiveRun;
  /** In the order they came. */
  points: readonly Point[];
  loads: ReadonlyMap<number, LinkLoad>;
  /** The document of a figure's run. */
  figure: unknown;
}

export const emptyLog = (run: Run): RunLog => ({
  live: {
    state: run.state,
    reason: run.reason,
    progress: run.progress,
    points_done: run.points_done,
    points_total: run.points_total,
    remaining_secs: run.remaining_secs,
  },
  points: [],
  loads: new Map(),
  figure: null,
});

/**
 * Link loads are saved for at most this many points; with more, they are computed again on request.
 */
const KEPT_LOADS = 24;

export function reduceLog(log: RunLog, events: readonly ServerEvent[]): RunLog {
  let { live, figure } = log;
  const points = [...log.points];
  const loads = new Map(log.loads);
  for (const event of events) {
    if (event.event === "point") {
      const frame = JSON.parse(event.data) as PointFrame;
      const { link_load, ...result } = frame.result;
      if (link_load && loads.size < KEPT_LOADS)
        loads.set(frame.point, {
          a_to_b: Uint32Array.from(link_load.a_to_b),
          b_to_a: Uint32Array.from(link_load.b_to_a),
        });
      points.push({
        point: frame.point,
        topology: frame.topology,
        seed: frame.seed,
        kind: frame.failure_kind,
        ratio: frame.failure_ratio,
        result,
      });
    } else if (event.event === "figure") figure = JSON.parse(event.data);
    else live = liveRun(live, event);
  }
  return { live: { ...live, points_done: Math.max(live.points_done, points.length) }, points, loads, figure };
}

export type MetricId = "abt" | "dropped" | "hops" | "most" | "median" | "last";

export interface Metric {
  id: MetricId;
  title: string;
  /** The label of a tab. */
  short: string;
  /** For a chart's title, before "under switch failures". */
  subject: string;
  of: (result: Answer) => number | null;
  /**
   * Formats a value with its unit; `result` is the point's own answer, if the unit depends on it.
   */
  format: (value: number, result?: Answer) => string;
  /** At an axis that names the unit. */
  tick: (value: number) => string;
  unit: string;
  /** The unit, if it depends on the answer, such as hops or links of paths. */
  unitOf?: (result: Answer) => string;
}

const whole = (value: number) => formatShort(value, value >= 100 ? 0 : 2);

export const METRICS: readonly Metric[] = [
  {
    id: "abt",
    title: "Aggregate bottleneck throughput",
    short: "ABT",
    subject: "ABT",
    of: (result) => result.abt_gbps,
    format: (value) => formatGbps(value),
    tick: (value) => formatShort(value, 2),
    unit: "Gb/s",
  },
  {
    id: "dropped",
    title: "Flows without a path",
    short: "Dropped",
    subject: "Dropped flows",
    of: ({ flows, dropped_flows }) =>
      flows + dropped_flows > 0 ? dropped_flows / (flows + dropped_flows) : 0,
    format: (value) => formatPercent(value, value === 0 ? 0 : 2),
    tick: ratioText,
    unit: "of all flows",
  },
  {
    id: "hops",
    title: "Mean path length",
    short: "Path",
    subject: "Mean path",
    of: (result) => (result.flows > 0 ? result.path_hops.mean : null),
    format: (value, result) => formatNumber(value, 2) + (result ? `\u00a0${result.path_hops.unit}` : ""),
    tick: (value) => formatShort(value, 2),
    unit: "hops",
    unitOf: ({ path_hops }) => path_hops.unit,
  },
  {
    id: "most",
    title: "Flows on the most loaded link",
    short: "Bottleneck",
    subject: "Most loaded link",
    of: (result) => result.max_link_flows,
    format: whole,
    tick: (value) => formatShort(value, 2),
    unit: "flows",
  },
  {
    id: "median",
    title: "Median fair rate per flow",
    short: "Fair rate",
    subject: "Median fair rate",
    of: (result) => result.maxmin?.median_gbps ?? null,
    format: (value) => formatGbps(value),
    tick: (value) => formatShort(value, 2),
    unit: "Gb/s",
  },
  {
    id: "last",
    title: "Completion time of the last flow",
    short: "Completion",
    subject: "Last flow completes",
    of: (result) => result.completion?.last_secs ?? null,
    format: (value) => `${formatShort(value, 2)}\u00a0s`,
    tick: (value) => formatShort(value, 2),
    unit: "s",
  },
];

/** The metrics that these points have a number for. */
export function metricsOf(points: readonly Point[]): Metric[] {
  return METRICS.filter((metric) => points.some(({ result }) => metric.of(result) !== null)).map((metric) => {
    const { unitOf } = metric;
    if (!unitOf) return metric;
    return { ...metric, unit: [...new Set(points.map(({ result }) => unitOf(result)))].join(" or ") };
  });
}

/** Seeds of one place of a curve, drawn together. */
export interface CurvePoint {
  ratio: number;
  mean: number;
  low: number;
  high: number;
  seeds: number;
}

export interface Curve {
  kind: FailureKind | null;
  topology: number;
  points: CurvePoint[];
}

/**
 * A curve for each kind of failure and topology, in that order: mean, minimum and maximum over the
 * seeds so far. Points without a ratio are at 0.
 */
export function curvesOf(points: readonly Point[], of: Metric["of"]): Curve[] {
  const gathered = new Map<string, { curve: Curve; byRatio: Map<number, number[]> }>();
  for (const { kind, topology, ratio, result } of points) {
    const value = of(result);
    if (value === null) continue;
    const key = `${kind ?? ""} ${topology}`;
    const entry = gathered.get(key) ?? { curve: { kind, topology, points: [] }, byRatio: new Map() };
    gathered.set(key, entry);
    const at = ratio ?? 0;
    const values = entry.byRatio.get(at);
    if (values) values.push(value);
    else entry.byRatio.set(at, [value]);
  }
  const kinds = [...new Set(points.map(({ kind }) => kind))];
  return [...gathered.values()]
    .map(({ curve, byRatio }) => ({
      ...curve,
      points: [...byRatio]
        .map(([ratio, values]) => ({
          ratio,
          mean: values.reduce((sum, value) => sum + value, 0) / values.length,
          low: Math.min(...values),
          high: Math.max(...values),
          seeds: values.length,
        }))
        .sort((a, b) => a.ratio - b.ratio),
    }))
    .sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || a.topology - b.topology);
}

/** The point to look at when none was chosen: the first of the first seed. */
export function shownPoint(points: readonly Point[], chosen: number | undefined): Point | undefined {
  return points.find(({ point }) => point === chosen) ?? firstOf(points);
}

function firstOf(points: readonly Point[]): Point | undefined {
  return points.reduce<Point | undefined>(
    (least, p) => (!least || p.point < least.point ? p : least),
    undefined,
  );
}

/** The load of each link in its more loaded direction. */
export function fullerDirection({ a_to_b, b_to_a }: LinkLoad): Uint32Array {
  return Uint32Array.from(a_to_b, (forth, link) => Math.max(forth, b_to_a[link] ?? 0));
}

/** 0.125 is "12.5 %", 0.1 is "10 %". */
export function ratioText(share: number | null): string {
  const whole = share === null || Math.abs(share * 100 - Math.round(share * 100)) < 1e-9;
  return formatPercent(share, whole ? 0 : 1);
}

export const FAILURE_WORDS: Record<FailureKind, string> = {
  server: "servers",
  switch: "switches",
  link: "links",
  rack: "racks",
};

/** The kinds of failure that a sweep goes through, one after the other. */
export function failureAxes(axes: Experiment["axes"]): { kind: FailureKind; ratios: number[] }[] {
  const failure = axes?.failure;
  if (!failure) return [];
  return Array.isArray(failure) ? failure : [failure];
}

/** The name of each topology in charts and tables; equal names get a number. */
export function topologyNames({ topologies }: Pick<Experiment, "topologies">): string[] {
  const names = topologies.map(({ name, title }) => name ?? title);
  return names.map((name, at) =>
    names.filter((other) => other === name).length > 1 ? `${name} (${at + 1})` : name,
  );
}

/** The plan that points of a topology are computed on. */
export function specOfTopology({ axes, plan }: Experiment, topology: number): PlanSpec {
  return (axes?.topologies?.[topology] ?? plan.spec) as PlanSpec;
}
