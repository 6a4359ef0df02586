import type { Note } from "@/api/types";
import { byMoment } from "../../shared/notes/notes";

export interface Pin {
  /** Of the first of its notes. */
  at: number;
  notes: Note[];
}

/** Notes on a time axis: those that are nearer to a pin's first than `apartSecs` share that pin. */
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
