/**
 * The user's progress in the first-minute guide: plan, parallel paths, predict, emulate, pull a
 * cable. Stored in the browser.
 */
import { create } from "zustand";

export const STEPS = ["plan", "paths", "predict", "emulate", "pull"] as const;
export type Step = (typeof STEPS)[number];

interface GuideState {
  /**
   * The step that is shown; `STEPS.length` when all are done, null before the guide was started.
   */
  at: number | null;
  closed: boolean;
  start: () => void;
  /** On to the next step, done or not. */
  next: () => void;
  /** A step was completed in any way; it moves the guide forward, never back. */
  reach: (step: Step) => void;
  close: () => void;
}

const KEY = "cubeyard.guide";

type Kept = Pick<GuideState, "at" | "closed">;

/** The state stored in the browser; a guide that was never seen if nothing valid is stored. */
export function readGuide(text: string | null): Kept {
  const fresh: Kept = { at: null, closed: false };
  try {
    const value = JSON.parse(text ?? "") as Partial<Kept> | null;
    const at = value?.at ?? null;
    const valid = at === null || (Number.isInteger(at) && at >= 0 && at <= STEPS.length);
    return valid ? { at, closed: value?.closed === true } : fresh;
  } catch {
    return fresh;
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keep({ at, closed }: Kept): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ at, closed }));
  } catch {
    // Then it starts again with the next page.
  }
}

export const useGuide = create<GuideState>((set, get) => {
  const to = (change: Partial<Kept>) => {
    set(change);
    keep(get());
  };
  return {
    ...readGuide(stored()),
    start: () => to({ at: 0, closed: false }),
    next: () => to({ at: Math.min(STEPS.length, (get().at ?? -1) + 1) }),
    reach: (step) => {
      const { at, closed } = get();
      const place = STEPS.indexOf(step);
      if (at !== null && !closed && at <= place) to({ at: place + 1 });
    },
    close: () => to({ closed: true }),
  };
});

export const useGuideOpen = (): boolean => useGuide((state) => state.at !== null && !state.closed);
