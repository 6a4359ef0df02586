/**
 * A draft of an experiment: the body of `POST /experiments` (absent fields have defaults), never
 * changed in place. The form, the JSON view and the link are three views of it.
 */
import type { Experiment } from "@/api/types";
import { getIn, isObject, type Json, type JsonObject, mergePatch, setIn } from "@/shared/plans/spec";
import type { FailureKind } from "@/shared/runs/run-points";

export interface Draft extends JsonObject {
  plan: JsonObject;
  workload: JsonObject;
}

export const MAX_TOPOLOGIES = 8;
export const FAILURE_KINDS: readonly FailureKind[] = ["server", "switch", "link", "rack"];
export const DEFAULT_SEED = 7;
/** The ratios of the papers' figures of graceful degradation. [bcube §6, Fig. 8] */
export const DEFAULT_RATIOS = [0, 0.05, 0.1, 0.15, 0.2];

/** One point, whose links are kept: they are what its picture shows. */
export const newDraft = (plan: JsonObject): Draft => ({
  plan,
  workload: { kind: "all-to-all" },
  link_load: true,
});

/** A draft from JSON that a person or a link brought; null when it is none. */
export function readDraft(value: unknown): Draft | null {
  if (!isObject(value) || !isObject(value.plan)) return null;
  const workload = typeof value.workload === "string" ? { kind: value.workload } : value.workload;
  return { ...value, plan: value.plan, workload: isObject(workload) ? workload : { kind: "all-to-all" } };
}

/** A new draft with the settings of an existing experiment. */
export function draftOf(experiment: Experiment): Draft {
  const reference = ({
    id,
    revision,
    spec,
  }: {
    id?: string | null;
    revision?: number | null;
    spec: unknown;
  }) => (id ? { id, ...(revision && { revision }) } : spec) as JsonObject;
  const { plan, workload, axes, topologies } = experiment;
  const axesBody = axes && {
    ...(axes.topologies && {
      topologies: axes.topologies.map((spec, at) =>
        reference({ id: topologies[at]?.plan_id, revision: topologies[at]?.revision, spec }),
      ),
    }),
    ...(axes.failure && { failure: axes.failure }),
    ...(axes.seeds && { seeds: axes.seeds }),
  };
  // The last ones are drawn by the schedules, which draw the same again.
  const listed = experiment.faults.slice(0, experiment.faults.length - (experiment.drawn_faults ?? 0));
  const body: Record<string, unknown> = {
    routing: experiment.routing,
    faults: listed.length > 0 ? listed : null,
    fault_schedules:
      experiment.fault_schedules && experiment.fault_schedules.length > 0 ? experiment.fault_schedules : null,
    ...(experiment.engine === "emulation" && { engine: "emulation", emulation: experiment.emulation }),
    ...(experiment.engine === "packet" && { engine: "packet", packet: experiment.packet ?? {} }),
    hypotheses: experiment.hypotheses && experiment.hypotheses.length > 0 ? experiment.hypotheses : null,
    link_gbps: experiment.link_gbps,
    max_min: experiment.max_min,
    flow_gigabits: experiment.flow_gigabits,
    link_load: experiment.link_load || null,
    seeds: experiment.seeds,
    axes: axesBody,
  };
  // A merge patch removes fields that are null.
  return mergePatch(
    { plan: reference(plan) },
    {
      ...(body as JsonObject),
      workload: workload as unknown as Json,
    },
  ) as Draft;
}

/** The plans of a draft: the sweep's topologies, else its one plan. */
export function plansOf(draft: Draft): JsonObject[] {
  const topologies = getIn(draft, "axes.topologies");
  return Array.isArray(topologies) && topologies.length > 0 ? topologies.filter(isObject) : [draft.plan];
}

/** The first plan is the draft's own; more than one make an axis of the sweep. */
export function withPlans(draft: Draft, plans: readonly JsonObject[]): Draft {
  const [first, ...rest] = plans;
  if (!first) return draft;
  return setIn({ ...draft, plan: first }, "axes.topologies", rest.length > 0 ? [...plans] : undefined);
}

export interface FailureAxis {
  kind: FailureKind;
  ratios: number[];
}

export function failuresOf(draft: Draft): FailureAxis[] {
  const failure = getIn(draft, "axes.failure");
  const list = Array.isArray(failure) ? failure : failure ? [failure] : [];
  return list.filter(isObject) as unknown as FailureAxis[];
}

/**
 * Sets the kinds of failures in the sweep, in the order of `FAILURE_KINDS`; all use the same
 * ratios. A new sweep does not save link loads: for so many points they are computed again on
 * request.
 */
export function withFailures(draft: Draft, kinds: readonly FailureKind[], ratios: readonly number[]): Draft {
  const begins = failuresOf(draft).length === 0 && kinds.length > 0;
  const from = begins ? setIn(draft, "link_load", undefined) : draft;
  const failure = FAILURE_KINDS.filter((kind) => kinds.includes(kind)).map((kind) => ({
    kind,
    ratios: [...ratios],
  }));
  return setIn(from, "axes.failure", failure.length > 0 ? failure : undefined);
}

export function seedsOf(draft: Draft): number[] {
  const first = Array.isArray(draft.seeds) ? (draft.seeds as number[]) : [DEFAULT_SEED];
  const swept = getIn(draft, "axes.seeds");
  if (typeof swept === "number")
    return Array.from({ length: swept }, (_, at) => (first[0] ?? DEFAULT_SEED) + at);
  return Array.isArray(swept) ? (swept as number[]) : first;
}

export const withSeeds = (draft: Draft, seeds: readonly number[]): Draft =>
  setIn(setIn(draft, "axes.seeds", undefined), "seeds", [...seeds]);

/** How many points a run of it has: topology x failure ratio x seed. */
export function pointsOf(draft: Draft): number {
  const ratios = failuresOf(draft).reduce((sum, axis) => sum + axis.ratios.length, 0);
  return plansOf(draft).length * Math.max(1, ratios) * seedsOf(draft).length;
}

export function faultsOf(draft: Draft): JsonObject[] {
  return Array.isArray(draft.faults) ? draft.faults.filter(isObject) : [];
}

export const withFaults = (draft: Draft, faults: readonly JsonObject[]): Draft =>
  setIn(draft, "faults", faults.length > 0 ? [...faults] : undefined);

export type TargetForm = "share" | "names" | "words";

export function targetForm(fault: JsonObject): TargetForm {
  const target = isObject(fault.target) ? fault.target : {};
  return "names" in target ? "names" : "selector" in target ? "words" : "share";
}

export const newTarget = (form: TargetForm): JsonObject =>
  form === "names" ? { names: [] } : form === "words" ? { selector: "" } : { kind: "switch", ratio: 0.1 };

/**
 * Names as a person lists them: by spaces, semicolons or lines, as names may hold commas
 * (`<3,001>`).
 */
export function readNames(text: string): string[] {
  return text
    .split(/[;\n]|,?\s+/)
    .map((name) => name.trim())
    .filter(Boolean);
}

const numberIn = (text: string) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN);

/** `7, 9, 12-15` to numbers; null when it is none, or more than `most` of them. */
function readRanges(
  text: string,
  most: number,
  stepOf: (step: string | undefined) => number,
): number[] | null {
  const numbers: number[] = [];
  for (const part of text.split(/[,;\s]+/).filter(Boolean)) {
    const range = /^([\d.]+)(?:-|–|\.\.)([\d.]+)(?:\/([\d.]+))?$/.exec(part);
    const [from, to, step] = range
      ? [numberIn(range[1]!), numberIn(range[2]!), stepOf(range[3])]
      : [numberIn(part), numberIn(part), 1];
    if (!(to >= from) || !(step > 0) || numbers.length + (to - from) / step > most) return null;
    const count = Math.floor((to - from) / step + 1e-9);
    for (let at = 0; at <= count; at++) numbers.push(Number((from + at * step).toPrecision(12)));
  }
  return numbers.length > 0 && numbers.length <= most ? numbers : null;
}

/**
 * Percentages, listed or as ranges: `0, 5, 10` and `0-10/5` are both 0, 0.05 and 0.1. Each once,
 * ascending.
 */
export function readRatios(text: string): number[] | null {
  const percents = readRanges(text.replaceAll("%", " "), 201, (step) =>
    step === undefined ? 5 : numberIn(step),
  );
  if (!percents || percents.some((percent) => percent > 100)) return null;
  const ratios = percents.map((percent) => Number((percent / 100).toPrecision(12)));
  return [...new Set(ratios)].sort((a, b) => a - b);
}

export const ratiosText = (ratios: readonly number[]): string =>
  ratios.map((ratio) => String(Number((ratio * 100).toPrecision(12)))).join(", ");

/** Seeds, listed or as ranges: `7`, `7-26`, `1, 4, 9`. Each once, in the order given. */
export function readSeeds(text: string): number[] | null {
  const seeds = readRanges(text, 1000, () => 1);
  if (!seeds?.every((seed) => Number.isSafeInteger(seed))) return null;
  return [...new Set(seeds)];
}

/** Runs of consecutive seeds as ranges. */
export function seedsText(seeds: readonly number[]): string {
  const parts: string[] = [];
  for (let from = 0; from < seeds.length; ) {
    let to = from;
    while (seeds[to + 1] === seeds[to]! + 1) to++;
    parts.push(to - from > 1 ? `${seeds[from]}-${seeds[to]}` : seeds.slice(from, to + 1).join(", "));
    from = to + 1;
  }
  return parts.join(", ");
}
