/** Where something pinned to a rack, a device or a cable is marked on the floor. */
import type { PlanModel } from "./model";
import type { Selection } from "./selection";

/**
 * Metres: the middle of a rack's near edge, a device's rack, the place where a cable meets the
 * trays over the rack of its first end.
 */
export function pinPlace(model: PlanModel, selection: Selection): [x: number, y: number] | null {
  const id = selection?.ids[0];
  if (selection === null || id === undefined) return null;
  const edge = (rack: number): [number, number] => [
    model.racks.x[rack]!,
    model.racks.y[rack]! - model.racks.depth[rack]! / 2,
  ];
  if (selection.kind === "rack") return edge(id);
  if (selection.kind === "device") return edge(model.devices.rack[id]!);
  if (selection.kind !== "cable") return null;
  const rack = model.devices.rack[model.cables.aDevice[id]!]!;
  const { tray_x_metres, tray_y_metres } = model.scene.racks;
  const stays = model.cables.bundle[id]! < 0;
  return stays ? edge(rack) : [tray_x_metres[rack]!, tray_y_metres[rack]!];
}
