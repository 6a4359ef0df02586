import type { Note } from "@/api/types";
import { byMoment } from "@/shared/notes/notes";

export interface Pin {
  /** The time of its first note. */
  at: number;
  notes: Note[];
}

/**
 * Groups notes on a time axis: notes closer than `apartSecs` to a pin's first note share that pin.
 */
export function pinsOf(notes: readonly Note[], apartSecs: number): Pin[] {
  const pins: Pin[] = [];
  for (const note of byMoment(notes)) {
    const at = note.anchor.at_secs ?? 0;
    const last = pins.at(-1);
    if (last && at - last.at < apartSecs) last.notes.push(note);
    else pins.push({ at, notes: [note] });
  }
  return pins;
}
