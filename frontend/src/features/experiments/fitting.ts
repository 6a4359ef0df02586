/**
 * What the server takes of a plan that is too large to be emulated, and which draft it was taken
 * of.
 */
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import { canonical, isObject, type JsonObject, setIn } from "../shared/spec";
import { type Draft, readDraft } from "./draft";
import { emulationOf } from "./engine";

export type Fitted = components["schemas"]["FittedEmulation"];

export interface Taken {
  /** Before anything was taken. */
  before: Draft;
  fitted: Fitted;
}

const KEY = "cubeyard.taken";

/** `servers`: at most so many; chosen by the server if left out. */
export const fitOf = (draft: Draft, servers?: number, signal?: AbortSignal): Promise<Fitted> =>
  take(
    api.POST("/api/v1/emulation/fit", {
      body: { experiment: draft as never, ...(servers !== undefined && { servers }) },
      signal,
    }),
  );

/** The draft with what was taken; null if the server sent none. */
export const draftTaken = ({ experiment }: Fitted): Draft | null => readDraft(experiment);

/**
 * What is taken of a draft that leaves nothing out, so that nobody has to agree. Null where the
 * whole is run, or nothing can be.
 */
export async function fitAtOnce(before: Draft): Promise<{ draft: Draft; taken: Taken } | null> {
  try {
    const fitted = await fitOf(before);
    const draft = draftTaken(fitted);
    if (!draft || fitted.kind === "whole" || fitted.outside.length > 0) return null;
    return { draft, taken: { before, fitted } };
  } catch {
    return null; // the estimate says why
  }
}

/** What makes two drafts run on the same part of a plan. */
const partOf = (draft: Draft): string =>
  canonical({ plan: draft.plan, slice: emulationOf(draft).slice ?? null });

/** Whether the draft still runs on what was taken. */
export function isOf(draft: Draft, taken: Taken): boolean {
  const fitted = draftTaken(taken.fitted);
  return fitted !== null && draft.engine === "emulation" && partOf(fitted) === partOf(draft);
}

/** The draft as it is now, of the plan that it was taken of: what was changed since stays. */
export function beforeTaken(draft: Draft, { before, fitted }: Taken): Draft {
  const given = canonical(fitted.experiment.workload as JsonObject) === canonical(draft.workload);
  const whole = { ...draft, plan: before.plan, workload: given ? before.workload : draft.workload } as Draft;
  const settings = setIn(emulationOf(whole), "slice", emulationOf(before).slice);
  return { ...whole, emulation: settings };
}

/** Kept for as long as the browser's tab, so that a reload still says what was taken. */
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
