/**
 * The text of each step, and the control that it points at: the first of its hints whose control is
 * on the page.
 */
import type { Step } from "./guide-state";

export interface Hint {
  /** `data-guide` of a control. */
  target: string;
  text: string;
}

export const STEP_TITLES: Record<Step, string> = {
  plan: "Plan",
  paths: "Paths",
  predict: "Predict",
  emulate: "Emulate",
  pull: "Pull a cable",
};

const TO_PLAN: Hint = { target: "nav-plan", text: "Go back to the plan." };

export const HINTS: Record<Step, readonly Hint[]> = {
  plan: [
    { target: "size", text: "Choose a size. Drawing, cables and cost follow; the default is fine too." },
    TO_PLAN,
  ],
  paths: [
    {
      target: "paths",
      text: "Show the parallel paths of two servers, choose one and unplug a cable of it: another path is left.",
    },
    TO_PLAN,
  ],
  predict: [
    { target: "run", text: "Run it. The estimate says how long it takes." },
    { target: "predict", text: "Predict how much traffic the plan carries when switches fail." },
    TO_PLAN,
  ],
  emulate: [
    { target: "run-emulation", text: "Run it. Every server becomes a real network stack for half a minute." },
    { target: "fit", text: "The plan is too large for this machine. Take the part that it runs." },
    { target: "predict-instead", text: "This machine cannot emulate. Predict the plan instead." },
    { target: "emulate", text: "Emulate the plan: every server becomes a real network stack." },
    { target: "method", text: "Choose the method Emulation, or go back to the plan." },
    TO_PLAN,
  ],
  pull: [
    { target: "inject", text: "Inject the fault and watch the flows move to other paths." },
    { target: "inject-cable", text: "Click a cable in the picture, or choose one with traffic." },
    { target: "inject-pick", text: "Click a cable in the picture." },
    { target: "inject-mode", text: "Turn on “Inject faults” and choose a cable." },
    {
      target: "run-again",
      text: "This run has ended. Run it again, then pull a cable while its traffic flows.",
    },
    { target: "starting", text: "The servers are starting. Faults can be injected once traffic flows." },
    { target: "nav-runs", text: "Open the emulation from the list of runs." },
  ],
};

/** The control of a target that can be seen and used; null when there is none. */
export function controlOf(target: string): HTMLElement | null {
  const controls = document.querySelectorAll<HTMLElement>(`[data-guide="${target}"]`);
  for (const control of controls) {
    const { width, height } = control.getBoundingClientRect();
    if (width > 0 && height > 0 && !control.matches(":disabled")) return control;
  }
  return null;
}

/**
 * The hint for the page as it is, and its control; without any control the step's last hint alone.
 */
export function hintFor(step: Step): { hint: Hint; control: HTMLElement | null } {
  for (const hint of HINTS[step]) {
    const control = controlOf(hint.target);
    if (control) return { hint, control };
  }
  return { hint: HINTS[step].at(-1)!, control: null };
}
