/**
 * The painted content of a plan in one view: the picture, the overlay of the selection, marks of
 * faults, and the position.
 */
import { useMemo } from "react";
import {
  buildOverlay,
  buildView,
  type ColourBy,
  type Face,
  floorMarks,
  highlightOf,
  type LinkHeat,
  type LinksMode,
  type PlanModel,
  type Selection,
  type Struck,
  type ViewKind,
  type ViewOptions,
} from "@/scene";
import { fitTransform, type Size } from "./transform";

/** The parts of a plan to show, and how. */
export interface Shows {
  model: PlanModel;
  view: ViewKind;
  selection?: Selection;
  colourBy?: ColourBy;
  linksMode?: LinksMode;
  /** Colours links by load instead of by level. */
  heat?: LinkHeat;
  /** The faults, which are marked on the floor. */
  struck?: Struck;
  /** Racks of the elevations; all when absent. */
  racks?: readonly number[];
  face?: Face;
}

export function usePlanPicture(
  shows: Shows,
  {
    orbit,
    size,
    foot,
  }: {
    orbit: NonNullable<ViewOptions["orbit"]>;
    size: Size;
    /** Height below the picture that the caption takes, in px. */
    foot: number;
  },
) {
  const { model, view, heat, struck, racks, face } = shows;
  const selection = shows.selection ?? null;
  const colourBy = shows.colourBy ?? "power";
  const linksMode = shows.linksMode ?? "trunk";
  const aspect = Math.max(0.2, Math.round((size.width / Math.max(1, size.height)) * 5) / 5);
  const options = useMemo<ViewOptions>(
    () => ({ colourBy, linksMode, heat, racks, face, aspect, orbit }),
    [colourBy, linksMode, heat, racks, face, aspect, orbit],
  );
  const list = useMemo(() => buildView(model, view, options), [model, view, options]);
  const highlight = useMemo(() => highlightOf(model, selection), [model, selection]);
  const overlay = useMemo(
    () => (highlight ? buildOverlay(model, view, highlight, options) : null),
    [model, view, highlight, options],
  );
  const marks = useMemo(
    () => (struck && view === "floor" ? floorMarks(model, struck) : null),
    [model, view, struck],
  );
  const { x: bx, y: by, width: bw, height: bh } = list.bounds;
  const fit = useMemo(
    () => fitTransform({ x: bx, y: by, width: bw, height: bh }, { ...size, height: size.height - foot }),
    [bx, by, bw, bh, size, foot],
  );
  return { options, list, highlight, overlay, marks, fit };
}

export type PlanPicture = ReturnType<typeof usePlanPicture>;
