/**
 * The part that the server chooses from a plan that is too large to be emulated, and the draft from
 * which it was chosen.
 */
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import { canonical, isObject, type JsonObject, setIn } from "@/shared/plans/spec";
import { type Draft, readDraft } from "./draft";
import { emulationOf } from "./engine";

export type Fitted = components["schemas"]["FittedEmulation"];

export interface Taken {
  /** Before anything was taken. */
  before: Draft;
  fitted: Fitted;
}

const KEY = "cubeyard.taken";

/** `servers`: the most servers to choose; chosen by the server if omitted. */
export const fitOf = (draft: Draft, servers?: number, signal?: AbortSignal): Promise<Fitted> =>
  take(
    api.POST("/api/v1/emulation/fit", {
      body: { experiment: draft as never, ...(servers !== undefined && { servers }) },
      signal,
    }),
  );

/** The draft with the chosen part; null if the server sent none. */
export const draftTaken = ({ experiment }: Fitted): Draft | null => readDraft(experiment);

/**
 * The choice for a draft if it omits nothing, so that the user need not agree. Null if the whole
 * plan runs, or nothing can run.
 */
export async function fitAtOnce(before: Draft): Promise<{ draft: Draft; taken: Taken } | null> {
  try {
    const fitted = await fitOf(before);
    const draft = draftTaken(fitted);
    if (!draft || fitted.kind === "whole" || fitted.outside.length > 0) return null;
    return { draft, taken: { before, fitted } };
  } catch {
    return null; // the estimate shows the reason
  }
}

/** The fields that decide on which part of a plan a draft runs. */
const partOf = (draft: Draft): string =>
  canonical({ plan: draft.plan, slice: emulationOf(draft).slice ?? null });

/** Whether the draft still runs on the chosen part. */
export function isOf(draft: Draft, taken: Taken): boolean {
  const fitted = draftTaken(taken.fitted);
  return fitted !== null && draft.engine === "emulation" && partOf(fitted) === partOf(draft);
}

/** The current draft, on the plan before the choice: later changes stay. */
export function beforeTaken(draft: Draft, { before, fitted }: Taken): Draft {
  const given = canonical(fitted.experiment.workload as JsonObject) === canonical(draft.workload);
  const whole = { ...draft, plan: before.plan, workload: given ? before.workload : draft.workload } as Draft;
  const settings = setIn(emulationOf(whole), "slice", emulationOf(before).slice);
  return { ...whole, emulation: settings };
}

/** Stored for the browser's tab, so that a reload still shows the choice. */
export function remember(taken: Taken): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(taken));
  } catch {
    // The sentence is then gone after a reload.
  }
}

export function remembered(draft: Draft): Taken | null {
  try {
    const taken = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Taken | null;
    return taken && isObject(taken.before) && isOf(draft, taken) ? taken : null;
  } catch {
    return null;
  }
}
