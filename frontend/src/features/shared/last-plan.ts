import { create } from "zustand";

/** Where the plan page was last: "Plan" in the bar goes back there, edits and view included. */
export const useLastPlan = create<{ href: string }>(() => ({ href: "/" }));

/**
 * Whether a path is the plan page's, and not of a page below a plan: another page may be on its way
 * in while the plan still stands.
 */
export const isPlanPath = (path: string): boolean => /^\/(plans\/[^/]+)?$/.test(path);
