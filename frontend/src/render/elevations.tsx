/**
 * Elevations of the racks around the selection: both ends of selected cables, else the group of the
 * first selected rack.
 */
import { useMemo } from "react";
import { cableRacks, highlightOf, type PlanModel, type Selection } from "@/scene";
import { PlanCanvas, type PlanCanvasProps } from "./plan-canvas";

/**
 * The largest number of racks side by side; of larger groups only the part around the selection is
 * shown.
 */
const MAX_RACKS = 16;

export function elevationRacks(model: PlanModel, selection: Selection): readonly number[] {
  if (selection?.kind === "cable") {
    const ends = [...new Set(selection.ids.flatMap((cable) => cableRacks(model, cable)))];
    if (ends.length > 0 && ends.length <= MAX_RACKS) return ends;
  }
  const highlight = highlightOf(model, selection);
  const chosen = highlight
    ? ([...highlight.racks.toArray()][0] ??
      [...highlight.devices.toArray()].map((d) => model.devices.rack[d]!)[0] ??
      [...highlight.relatedRacks.toArray()][0])
    : undefined;
  const rack = chosen ?? 0;
  const group = model.groups.find(({ racks }) => racks.includes(rack));
  const racks =
    group && group.racks.length > 1 ? group.racks : (model.rows.find((row) => row.includes(rack)) ?? []);
  if (racks.length <= MAX_RACKS) return racks;
  const start = Math.max(0, Math.min(racks.length - MAX_RACKS, racks.indexOf(rack) - MAX_RACKS / 2));
  return racks.slice(start, start + MAX_RACKS);
}

export type ElevationsProps = Omit<PlanCanvasProps, "view" | "racks">;

export function Elevations(props: ElevationsProps) {
  const { model, selection } = props;
  const ids = elevationRacks(model, selection ?? null).join(",");
  const racks = useMemo(() => (ids === "" ? [] : ids.split(",").map(Number)), [ids]);
  return <PlanCanvas {...props} view="elevations" racks={racks} />;
}
