/**
 * One experiment with the results of prediction, simulation and emulation on common axes. No
 * drawing.
 */
import type { components } from "@/api/schema";
import type { Experiment, PointFrame, Run } from "@/api/types";
import type { LineSeries, Point } from "@/charts";

type Schemas = components["schemas"];
export type Whole = Schemas["Simulation"];
export type Method = "flow" | "packet" | "emulation";
export const METHODS: readonly Method[] = ["flow", "packet", "emulation"];
export const METHOD_WORDS: Record<Method, string> = {
  flow: "Prediction",
  packet: "Simulation",
  emulation: "Emulation",
};

/** A complete run of a method, with its experiment. */
export interface MethodRun {
  method: Method;
  run: Run;
  experiment: Experiment;
}

/** The first point of each method, as far as it has been answered. */
export interface Answers {
  flow?: PointFrame["result"];
  packet?: { result: Whole; flowBytes: number | null };
  emulation?: Schemas["ReportFrame"];
}

/**
 * Sizes of flows are ignored in the comparison, because flows of an emulation are mostly unlimited.
 */
const SIZES = new Set(["bytes"]);

/** JSON with sorted keys, without fields that are not set. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(
    fields.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, field]) => [key, ordered(field)]),
  );
}

/**
 * Whether two experiments have the same setup: network, traffic except its size, routing, link rate
 * and faults.
 */
export function sameQuestion(first: Experiment, other: Experiment): boolean {
  const questionOf = ({ plan, workload, routing, link_gbps, faults, emulation, topologies }: Experiment) => {
    const traffic = Object.entries(workload).filter(([key]) => !SIZES.has(key));
    const slice = emulation?.slice ?? null;
    return JSON.stringify(
      ordered([plan.spec, Object.fromEntries(traffic), routing, link_gbps, faults, slice, topologies.length]),
    );
  };
  return questionOf(first) === questionOf(other);
}

/** The size of each flow of a simulation, in bytes; null if flows differ. */
export function flowBytesOf({ workload, flow_gigabits }: Experiment, result: Whole): number | null {
  if (["matrix", "listed", "requests"].includes(workload.kind)) return null;
  const { bytes } = workload as { bytes?: unknown };
  if (typeof bytes === "number") return bytes;
  if (flow_gigabits) return flow_gigabits * 1.25e8;
  const { default_bytes } = result.choices;
  return typeof default_bytes === "number" ? default_bytes : null;
}

const line = (method: Method, points: Point[], steps = false): LineSeries => ({
  id: method,
  label: METHOD_WORDS[method],
  look: METHODS.indexOf(method),
  points,
  steps,
});

/**
 * Goodput of all flows in time, in Gb/s. A prediction without flow sizes holds to the end of the
 * others.
 */
export function goodputSeries({ flow, packet, emulation }: Answers): LineSeries[] {
  const simulated = (packet?.result.series.goodput_gbps ?? []).map((y, at) => ({
    x: (at + 1) * packet!.result.series.step_secs,
    y,
  }));
  const measured = (emulation?.series.at_secs ?? []).map((x, at) => ({
    x,
    y: (emulation!.series.goodput_bits_per_sec[at] ?? 0) / 1e9,
  }));
  const end = Math.max(simulated.at(-1)?.x ?? 0, measured.at(-1)?.x ?? 0) || 1;
  const total = flow?.maxmin?.total_gbps;
  const predicted = flow?.completion
    ? line(
        "flow",
        flow.completion.total_rate.from_secs.map((x, at) => ({
          x,
          y: flow.completion!.total_rate.gbps[at] ?? 0,
        })),
        true,
      )
    : line(
        "flow",
        total === undefined
          ? []
          : [
              { x: 0, y: total },
              { x: end, y: total },
            ],
      );
  return [predicted, line("packet", simulated), line("emulation", measured)].filter(
    ({ points }) => points.length > 0,
  );
}

/** The share of answered requests by latency; nothing without requests. */
export function latencySeries({ packet, emulation }: Answers): LineSeries[] {
  const distributions: [Method, { secs: number[]; share: number[] } | null | undefined][] = [
    ["packet", packet?.result.latency_distribution],
    ["emulation", emulation?.latency_distribution],
  ];
  return distributions.flatMap(([method, of]) =>
    of && of.secs.length > 0
      ? [line(method, [{ x: 0, y: 0 }, ...of.secs.map((x, at) => ({ x, y: of.share[at] ?? 1 }))], true)]
      : [],
  );
}

/**
 * The share of flows that get at most a rate, in Gb/s: fair rates, mean rates to completion, and
 * measured means.
 */
export function flowSeries({ flow, packet, emulation }: Answers): LineSeries[] {
  const series: LineSeries[] = [];
  const fair = flow?.maxmin;
  if (fair && fair.min_gbps !== null) {
    const shares: [number | null, number][] = [
      [fair.min_gbps, 0],
      [fair.p01_gbps, 0.01],
      [fair.median_gbps, 0.5],
      [fair.p99_gbps, 0.99],
      [fair.max_gbps, 1],
    ];
    series.push(
      line(
        "flow",
        shares.flatMap(([x, y]) => (x === null ? [] : [{ x, y }])),
      ),
    );
  }
  if (packet && packet.flowBytes !== null) {
    const { share, secs } = packet.result.completion_distribution;
    const points = secs.map((time, at) => ({
      x: (packet.flowBytes! * 8e-9) / time,
      y: 1 - (share[at - 1] ?? 0),
    }));
    if (points.length > 0) series.push(line("packet", points.reverse(), true));
  }
  const rates = (emulation?.per_flow ?? [])
    .map((flow) => flow.goodput_bits_per_sec / 1e9)
    .sort((a, b) => a - b);
  if (rates.length > 0)
    series.push(
      line(
        "emulation",
        rates.map((x, at) => ({ x, y: (at + 1) / rates.length })),
        true,
      ),
    );
  return series;
}
