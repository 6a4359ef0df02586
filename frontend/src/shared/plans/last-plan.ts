import { create } from "zustand";

/** The last address of the plan page: "Plan" in the bar returns there, with edits and view. */
export const useLastPlan = create<{ href: string }>(() => ({ href: "/" }));

/**
 * Whether a path is the plan page's, and not of a page below a plan: another page may be on its way
 * in while the plan still stands.
 */
export const isPlanPath = (path: string): boolean => /^\/(plans\/[^/]+)?$/.test(path);
