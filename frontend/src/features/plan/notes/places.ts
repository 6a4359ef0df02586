/**
 * Where a note is pinned in the plan on screen, which may be an edited one that no revision has.
 */
import type { Note } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import { itemName, type Selection } from "@/scene/selection";
import type { Place } from "@/shared/notes/use-notes";
import { deviceIndex, portName, traceOf } from "@/shared/plans/names";
import { cableName } from "@/units";

/** The item of a selection to which a note can be pinned: one rack, device or cable. */
export function placeOf(model: PlanModel, selection: Selection): Place | null {
  if (selection?.ids.length !== 1) return null;
  const { kind } = selection;
  const id = selection.ids[0]!;
  if (kind === "cable") return { kind, name: cableName(id) };
  return kind === "rack" || kind === "device" ? { kind, name: itemName(model, kind, id) } : null;
}

/**
 * The item to which a note is pinned; null if the plan does not have it, or if the note is pinned
 * to a moment. A cable is found by its ends, because its number may belong to another cable now.
 */
export function selectionOf(model: PlanModel, { anchor }: Pick<Note, "anchor">): Selection {
  const { kind, name, ends } = anchor;
  if (kind === "rack") {
    const rack = name === null ? -1 : model.racks.names.indexOf(name);
    return rack < 0 ? null : { kind, ids: [rack] };
  }
  if (kind === "device") {
    const device = deviceByName(model, name);
    return device === null ? null : { kind, ids: [device] };
  }
  if (kind !== "cable" || ends?.length !== 4) return null;
  const [aDevice, aPort, bDevice, bPort] = ends as [string, string, string, string];
  const a = deviceByName(model, aDevice);
  const b = deviceByName(model, bDevice);
  if (a === null || b === null) return null;
  const row = traceOf(model, a).find(
    (item) => item.portName === aPort && item.farDevice === b && portName(model, b, item.farPort) === bPort,
  );
  return row ? { kind, ids: [row.cable] } : null;
}

/** Searched only by name, because a host name may be another device's name. */
function deviceByName(model: PlanModel, name: string | null): number | null {
  const device = name === null ? undefined : deviceIndex(model).get(name);
  return device !== undefined && model.devices.names[device] === name ? device : null;
}

/** The notes on a selected item. */
export function notesOn(model: PlanModel, notes: readonly Note[], place: Place): Note[] {
  return notes.filter((note) => {
    if (note.anchor.kind !== place.kind) return false;
    const at = placeOf(model, selectionOf(model, note));
    return at?.name === place.name;
  });
}
