/**
 * Predictions over the share of failures: the points to compute, and the interpolation between two
 * of them.
 */
import type { components } from "@/api/schema";

export type Prediction = components["schemas"]["Prediction"];
export type FailureKind = "switch" | "server" | "link";
type FaultRequest = components["schemas"]["FaultRequest"];

export const KINDS: readonly { value: FailureKind; label: string }[] = [
  { value: "switch", label: "Switches" },
  { value: "server", label: "Servers" },
  { value: "link", label: "Links" },
];
/** The kinds that a network has: a torus has no switch that could fail. */
export const kindsOf = (counts: { switches: number }): typeof KINDS =>
  counts.switches > 0 ? KINDS : KINDS.filter(({ value }) => value !== "switch");

export const MOST = 0.2;
export const STEP = 0.01;
/** Computed automatically, in this order: the ends first, so that a line appears soon. */
export const COARSE: readonly number[] = [0, 0.2, 0.1, 0.05];
export const SEED = 7;

/** The failed part: a share of a kind, or one rack. */
export type Failure = { kind: FailureKind; ratio: number } | { rack: string };

/** The fault of a request; none if nothing fails. */
export function faultsOf(failure: Failure): FaultRequest[] {
  if ("rack" in failure) return [{ kind: "down", at_secs: 0, target: { names: [failure.rack] } }];
  if (failure.ratio === 0) return [];
  return [{ kind: "down", at_secs: 0, target: { kind: failure.kind, ratio: failure.ratio } }];
}

/** The computed predictions by share. */
export type Points = ReadonlyMap<number, Prediction>;

export interface Value {
  gbps: number;
  /** The shares between which it was interpolated; null if it was computed. */
  between: readonly [number, number] | null;
}

/**
 * Throughput at a share: computed, or interpolated between the nearest computed shares; null until
 * there is one on each side.
 */
export function abtAt(points: Points, ratio: number): Value | null {
  const exact = points.get(ratio);
  if (exact) return { gbps: exact.abt_gbps, between: null };
  const known = [...points.keys()];
  const low = Math.max(...known.filter((x) => x < ratio));
  const high = Math.min(...known.filter((x) => x > ratio));
  const [a, b] = [points.get(low), points.get(high)];
  if (!a || !b) return null;
  const share = (ratio - low) / (high - low);
  return { gbps: a.abt_gbps + share * (b.abt_gbps - a.abt_gbps), between: [low, high] };
}

/** Shares in the slider's steps, without the rounding errors of adding hundredths. */
export const onGrid = (ratio: number): number => Math.round(ratio / STEP) / Math.round(1 / STEP);

/**
 * The rate of a network's slowest links, those of its servers, which is also used for the fat-tree.
 * With the rate of faster links between switches, the fat-tree's servers would get ports that the
 * plan's servers do not have.
 */
export const slowestGbps = (point: Prediction): number | null =>
  (point as { link_gbps?: { min: number } }).link_gbps?.min ?? null;
