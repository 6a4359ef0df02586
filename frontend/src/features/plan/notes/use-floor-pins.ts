/** The open notes of the saved plan as marks on its floor. */
import { useMemo } from "react";
import type { Note } from "@/api/types";
import type { Pin } from "@/render/pins";
import type { PlanModel } from "@/scene/model";
import { pinPlace } from "@/scene/pins";
import { isOpen } from "@/shared/notes/notes";
import { useNotes } from "@/shared/notes/use-notes";
import { usePlan } from "../state/store";
import { placeOf, selectionOf } from "./places";

/** The most letters of a note in a mark's tooltip. */
const TITLE_LETTERS = 160;

export function useFloorPins(model: PlanModel): Pin[] {
  const saved = usePlan((state) => state.saved);
  const notes = useNotes(saved && { plan: saved.id, revision: saved.revision });
  return useMemo(() => floorPins(model, notes.data ?? []), [model, notes.data]);
}

/**
 * One mark for each item that has open notes; items that the plan on screen does not have get no
 * mark.
 */
export function floorPins(model: PlanModel, notes: readonly Note[]): Pin[] {
  const pins = new Map<string, Pin>();
  const counts = new Map<string, number>();
  const taken = new Map<string, number>();
  for (const note of notes.filter(isOpen)) {
    const selection = selectionOf(model, note);
    const at = pinPlace(model, selection);
    const name = placeOf(model, selection)?.name;
    if (!selection || !at || name === undefined) continue;
    const key = `${selection.kind} ${name}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    const before = pins.get(key);
    if (before) {
      before.label = `${count} notes on ${selection.kind} ${name}`;
      continue;
    }
    const spot = at.join(" ");
    const place = taken.get(spot) ?? 0;
    taken.set(spot, place + 1);
    pins.set(key, {
      key,
      x: at[0],
      y: at[1],
      place,
      label: `Note on ${selection.kind} ${name}`,
      title: `${name}: ${note.text.slice(0, TITLE_LETTERS)}`,
      selection,
    });
  }
  return [...pins.values()];
}
