import { create } from "zustand";

/** Where the plan page was last: "Plan" in the bar goes back there, edits and view included. */
export const useLastPlan = create<{ href: string }>(() => ({ href: "/" }));
