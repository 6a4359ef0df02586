/**
 * The hypotheses of an experiment in its draft: metrics, their units, and the engines that support
 * them.
 */
import type { components } from "@/api/schema";
import { isObject, type JsonObject, setIn } from "@/shared/plans/spec";
import type { Draft } from "./draft";
import { type Engine, emulationOf, engineOf } from "./engine";

export type Metric = components["schemas"]["StatedHypothesis"]["metric"];

export interface MetricLook {
  label: string;
  unit: string;
  /** The factor from this unit to the server's. */
  factor: number;
  /** The bound to begin with. */
  bound: number;
  /** The bound is the most that it may be. */
  most?: boolean;
  engines: readonly Engine[];
}

const EVERY: readonly Engine[] = ["flow", "packet", "emulation"];

export const METRICS: Record<Metric, MetricLook> = {
  "goodput-share": {
    label: "Goodput, % of baseline",
    unit: "%",
    factor: 0.01,
    bound: 0.6,
    engines: EVERY,
  },
  "abt-share": {
    label: "ABT, % of baseline",
    unit: "%",
    factor: 0.01,
    bound: 0.6,
    engines: ["flow", "emulation"],
  },
  goodput: { label: "Goodput", unit: "Mb/s", factor: 1e6, bound: 1e9, engines: EVERY },
  abt: { label: "ABT", unit: "Mb/s", factor: 1e6, bound: 1e9, engines: ["flow", "emulation"] },
  "stalled-flows": {
    label: "Stalled flows",
    unit: "flows",
    factor: 1,
    bound: 0,
    most: true,
    engines: EVERY,
  },
  "latency-p99-secs": {
    label: "99th percentile of latencies (requests)",
    unit: "ms",
    factor: 0.001,
    bound: 0.01,
    most: true,
    engines: ["packet", "emulation"],
  },
  "completion-secs": {
    label: "Longest completion time",
    unit: "s",
    factor: 1,
    bound: 1,
    most: true,
    engines: ["flow", "packet"],
  },
  "completion-p99-secs": {
    label: "99th percentile of completion times",
    unit: "s",
    factor: 1,
    bound: 1,
    most: true,
    engines: ["packet"],
  },
  drops: {
    label: "Dropped packets",
    unit: "packets",
    factor: 1,
    bound: 0,
    most: true,
    engines: ["packet"],
  },
  timeouts: { label: "Timeouts", unit: "timeouts", factor: 1, bound: 0, most: true, engines: ["packet"] },
};

export const metricOf = (hypothesis: JsonObject): Metric =>
  typeof hypothesis.metric === "string" && hypothesis.metric in METRICS
    ? (hypothesis.metric as Metric)
    : "goodput-share";

/** The metrics that an engine answers, in the order of the menu. */
export const metricsOf = (engine: Engine): Metric[] =>
  (Object.keys(METRICS) as Metric[]).filter((metric) => METRICS[metric].engines.includes(engine));

/** All of a draft; one among the settings of an emulation comes first. */
export function hypothesesOf(draft: Draft): JsonObject[] {
  const { hypothesis } = emulationOf(draft);
  const listed = Array.isArray(draft.hypotheses) ? draft.hypotheses.filter(isObject) : [];
  return [...(isObject(hypothesis) ? [{ metric: "goodput-share", ...hypothesis }] : []), ...listed];
}

/** Replaces all hypotheses by this list. */
export function withHypotheses(draft: Draft, hypotheses: readonly JsonObject[]): Draft {
  const plain = isObject(draft.emulation)
    ? { ...draft, emulation: setIn(draft.emulation, "hypothesis", undefined) }
    : draft;
  return setIn(plain, "hypotheses", hypotheses.length > 0 ? [...hypotheses] : undefined) as Draft;
}

export const newHypothesis = (engine: Engine): JsonObject =>
  engine === "emulation"
    ? { metric: "goodput-share", bound: 0.6, abort: false }
    : { metric: "goodput-share", bound: 0.6 };

/** Keeps only the hypotheses that the new engine supports. */
export function answeredHypotheses(draft: Draft): Draft {
  const all = hypothesesOf(draft);
  const engine = engineOf(draft);
  const known = all.filter((item) => METRICS[metricOf(item)].engines.includes(engine));
  return known.length === all.length ? draft : withHypotheses(draft, known);
}
