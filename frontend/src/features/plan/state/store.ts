/**
 * The plan being edited: its spec with history, and the saved plan to which it belongs. The picture
 * comes from preview.ts.
 */
import { create } from "zustand";
import type { Plan, Summary } from "@/api/types";
import { edit, type History, redo, startHistory, undo } from "@/shared/plans/history";
import { DEFAULT_SPEC, type Json, mergePatch, type PlanSpec, sameSpec, setIn } from "@/shared/plans/spec";

/** The saved plan that is open. */
export interface Saved {
  id: string;
  name: string;
  revision: number;
  headRevision: number;
  spec: PlanSpec;
  summary: Summary;
  /** The price book and the version of it that the revision was made with. */
  book: string;
  bookVersion: number;
}

interface PlanState {
  history: History<PlanSpec>;
  saved: Saved | null;
  /** The name for a plan that is not saved yet. */
  draftName: string;
  /** The version of the price book a saved plan keeps; null for the latest. */
  pin: number | null;
  /** When the last edit happened, on the clock of `performance.now()`. */
  editedAtMs: number;
  open: (spec: PlanSpec, saved: Saved | null, draftName?: string) => void;
  change: (path: string, value: Json | undefined) => void;
  /** Replaces the whole spec as one undo step. */
  replace: (spec: PlanSpec, key: string) => void;
  /**
   * A change of several fields from one control; changes from the same control close together are
   * one step.
   */
  replaceField: (spec: PlanSpec, key: string) => void;
  patch: (patch: Json) => void;
  undo: () => void;
  redo: () => void;
  /** Replaces the pinned prices by the latest ones; saving makes this permanent. */
  takeLatestPrices: () => void;
  markSaved: (plan: Plan) => void;
  rename: (name: string) => void;
}

export const savedOf = (plan: Plan): Saved => ({
  id: plan.id,
  name: plan.name,
  revision: plan.revision,
  headRevision: plan.head_revision,
  spec: plan.spec as PlanSpec,
  summary: plan.summary,
  book: plan.catalog.book,
  bookVersion: plan.catalog.version,
});

export const UNTITLED = "Untitled plan";

export const usePlan = create<PlanState>((set) => {
  const edited = (spec: PlanSpec, key: string) =>
    set((state) =>
      sameSpec(spec, state.history.present)
        ? state
        : { history: edit(state.history, spec, key, performance.now()), editedAtMs: performance.now() },
    );
  const present = () => usePlan.getState().history.present;
  return {
    history: startHistory(DEFAULT_SPEC),
    saved: null,
    pin: null,
    draftName: UNTITLED,
    editedAtMs: performance.now(),
    open: (spec, saved, draftName = UNTITLED) =>
      set({
        history: startHistory(spec),
        saved,
        pin: saved?.bookVersion ?? null,
        draftName,
        editedAtMs: performance.now(),
      }),
    change: (path, value) => edited(setIn(present(), path, value), path),
    replace: (spec, key) => edited(spec, `${key} ${performance.now()}`),
    replaceField: edited,
    patch: (patch) => edited(mergePatch(present(), patch) as PlanSpec, `fix ${performance.now()}`),
    undo: () => set((state) => ({ history: undo(state.history), editedAtMs: performance.now() })),
    redo: () => set((state) => ({ history: redo(state.history), editedAtMs: performance.now() })),
    takeLatestPrices: () => set({ pin: null, editedAtMs: performance.now() }),
    markSaved: (plan) => set({ saved: savedOf(plan), pin: plan.catalog.version }),
    rename: (draftName) => set({ draftName }),
  };
});

/**
 * The price book version to plan with: the saved plan's version as long as the spec names the same
 * book, else the latest.
 */
export function pinOf({ saved, pin, history }: PlanState): number | null {
  const named = history.present.catalog;
  return saved && (named === undefined || named === saved.book || named === saved.spec.catalog) ? pin : null;
}

/** Whether the plan differs from the saved one. An unsaved plan is dirty once it was edited. */
export function isDirty(state: PlanState): boolean {
  const { saved, history } = state;
  if (!saved) return history.past.length > 0;
  return !sameSpec(saved.spec, history.present) || state.pin !== saved.bookVersion;
}
