/**
 * Detects two revisions of one plan among the compared plans, and describes their changes in words.
 */
import type { RevisionComparison } from "@/api/types";
import type { ComparedRef } from "@/shared/plans/refs";
import { formatCount } from "@/units";

export interface RevisionPair {
  id: string;
  earlier: number;
  revision: number;
}

/**
 * The pair of revisions if exactly two revisions of one saved plan are compared: the other one
 * relative to the base.
 */
export function revisionsOf(refs: readonly ComparedRef[], base: number): RevisionPair | null {
  const [before, after] = [refs[base], refs[1 - base]];
  if (refs.length !== 2 || !before?.id || before.id !== after?.id) return null;
  if (before.revision === undefined || after.revision === undefined) return null;
  return { id: before.id, earlier: before.revision, revision: after.revision };
}

type Places = RevisionComparison["racks"];

/** "2 added (R04, R05), 1 moved (R00)"; "unchanged". */
export function placesText(places: Places): string {
  const changes = (["added", "removed", "moved"] as const).flatMap((how) => {
    const { count, names } = places[how];
    if (count === 0) return [];
    const shown = names.slice(0, NAMES_SHOWN);
    return [`${formatCount(count)} ${how} (${shown.join(", ")}${count > shown.length ? ", …" : ""})`];
  });
  return changes.length > 0 ? changes.join(", ") : "unchanged";
}

const NAMES_SHOWN = 6;

/** "28 moved, 18 added, 4 kept". */
export function cablesText({ add, remove, move, keep }: RevisionComparison["cables"]): string {
  const changes = [
    [add, "added"],
    [remove, "removed"],
    [move, "moved"],
  ].flatMap(([count, how]) => (count ? [`${formatCount(count as number)} ${how}`] : []));
  return changes.length > 0 ? `${changes.join(", ")}, ${formatCount(keep)} kept` : "unchanged";
}
