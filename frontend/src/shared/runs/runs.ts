/** Texts about runs, shared by all pages that show them. */
import type { Experiment, Run } from "@/api/types";
import { plural } from "@/units";

export type RunState = Run["state"];

/** Whether the experiment of a run expects anything of it. */
export const hasHypotheses = ({ hypotheses, emulation }: Experiment): boolean =>
  (hypotheses?.length ?? 0) > 0 || Boolean(emulation?.hypothesis);

/** Whether a simulation keeps the times of each flow. */
export const keepsFlowTimes = ({ packet }: Experiment): boolean => packet?.flow_times === true;

export const isOver = (state: RunState): boolean =>
  state === "succeeded" || state === "failed" || state === "cancelled";

/** The state of a run, from its stream. */
export type LiveRun = Pick<Run, "state" | "reason" | "progress" | "points_done" | "points_total"> & {
  remaining_secs: number | null;
};

/** Applies `state` and `progress` events; other events change nothing. */
export function liveRun<T extends Partial<LiveRun>>(run: T, event: { event: string; data: string }): T {
  if (event.event === "progress") return { ...run, ...(JSON.parse(event.data) as Partial<LiveRun>) };
  if (event.event !== "state") return run;
  const { state, reason } = JSON.parse(event.data) as Pick<Run, "state" | "reason">;
  return { ...run, state, reason, ...(state === "succeeded" && { progress: 1 }) };
}

/** "about 12 seconds", "about 3 minutes"; nothing when it is not known. */
export function remainingText(secs: number | null | undefined): string {
  return secs === null || secs === undefined ? "" : `${aboutText(secs)} left`;
}

/** An estimate: "about 12 seconds", "less than a second". */
export const aboutText = (secs: number): string =>
  secs < 1 ? durationText(secs) : `about ${durationText(secs)}`;

/** A duration in words: "less than a second", "12 seconds", "3 minutes", "1 h 20 min". */
export function durationText(secs: number): string {
  if (secs < 1) return "less than a second";
  if (secs < 90) return plural(Math.round(secs), "second");
  const minutes = Math.round(secs / 60);
  if (minutes < 90) return plural(minutes, "minute");
  return `${Math.floor(minutes / 60)}\u00a0h ${minutes % 60}\u00a0min`;
}
