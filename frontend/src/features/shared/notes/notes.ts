/** Notes as plain data: what each one is pinned to, and which of them are shown. */
import type { Note } from "@/api/types";

/** Of a note's text, as the server has it. */
export const MAX_TEXT = 2000;

/** `R03`, `C00012`, `12.3 s`: what a note is pinned to, by the name it had when it was written. */
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
  const words = `${open} open ${open === 1 ? "note" : "notes"}`;
  return resolved > 0 ? `${words}, ${resolved} resolved` : words;
}
