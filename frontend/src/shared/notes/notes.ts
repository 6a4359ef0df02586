/** Notes as plain data: the anchor of each, and the filter for those that are shown. */
import type { Note } from "@/api/types";
import { plural } from "@/units";

/** The most characters of a note's text, equal to the server's limit. */
export const MAX_TEXT = 2000;

/** `R03`, `C00012`, `12.3 s`: the anchor of a note, by its name when the note was written. */
export function anchorText({ anchor }: Pick<Note, "anchor">): string {
  return anchor.kind === "moment" ? `${momentText(anchor.at_secs ?? 0)} of a run` : (anchor.name ?? "–");
}

/** A second of a run as its clock shows it. */
export const momentText = (secs: number): string => `${secs.toFixed(1).replace("-", "−")} s`;

/** The ends of a cable's note, as `00 eth1 – <1,0> P0`. */
export function endsText({ anchor }: Pick<Note, "anchor">): string | null {
  if (!anchor.ends) return null;
  const [aDevice, aPort, bDevice, bPort] = anchor.ends;
  return `${aDevice} ${aPort} – ${bDevice} ${bPort}`;
}

export const isOpen = (note: Note): boolean => note.resolved_at === null;

/** Open ones, or all; in the order of the list. */
export const shownNotes = (notes: readonly Note[], withResolved: boolean): Note[] =>
  withResolved ? [...notes] : notes.filter(isOpen);

/** Notes at moments in the order of the run's clock. */
export const byMoment = (notes: readonly Note[]): Note[] =>
  notes
    .filter(({ anchor }) => anchor.kind === "moment")
    .sort((a, b) => (a.anchor.at_secs ?? 0) - (b.anchor.at_secs ?? 0) || a.at.localeCompare(b.at));

/** "2 open notes, 1 resolved", for headings and announcements. */
export function countText(notes: readonly Note[]): string {
  const open = notes.filter(isOpen).length;
  const resolved = notes.length - open;
  const words = plural(open, "open note");
  return resolved > 0 ? `${words}, ${resolved} resolved` : words;
}
