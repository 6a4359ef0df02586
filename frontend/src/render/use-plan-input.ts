/**
 * Pointer and keyboard input on a picture of the plan: finding and selecting the item at a
 * position, stepping through items, moving the view.
 */
import { type RefObject, useCallback, useState } from "react";
import {
  type DEFAULT_ORBIT,
  type DisplayList,
  type HitItem,
  idsOfItem,
  type Selection,
  type StruckMarks,
  toggleSelection,
  type ViewKind,
} from "@/scene";
import type { Hovered, Shown } from "./canvas-tooltip";
import type { Transform } from "./transform";
import { usePlanKeys } from "./use-plan-keys";
import { usePlanPointer } from "./use-plan-pointer";
import type { ZoomControls } from "./use-zoom";

export interface PlanInput {
  frame: RefObject<HTMLElement | null>;
  shown: Shown;
  view: ViewKind;
  list: DisplayList;
  marks: StruckMarks | null;
  /** The whole picture in its place, before zooming. */
  fit: Transform;
  zoom: ZoomControls;
  hover: Hovered | null;
  setHover: (hover: Hovered | null) => void;
  setOrbit: (change: (orbit: typeof DEFAULT_ORBIT) => typeof DEFAULT_ORBIT) => void;
  selection: Selection;
  onSelect: ((selection: Selection) => void) | undefined;
  onHover: ((item: HitItem | null) => void) | undefined;
}

/**
 * Selects an item, or with `add` adds it to the selection or removes it; without an item, clears
 * the selection.
 */
export type Choose = (item: HitItem | null, add: boolean) => void;
/** Turns the 3D view, in degrees. */
export type TurnBy = (turn: number, tilt: number) => void;

export function usePlanInput(input: PlanInput) {
  const { shown, selection, onSelect, setOrbit } = input;
  /** The current item when stepping through items, for screen readers. */
  const [announced, setAnnounced] = useState("");
  const turnBy = useCallback<TurnBy>(
    (turn, tilt) => {
      setOrbit((before) => ({
        turn: (before.turn + turn) % 360,
        tilt: Math.max(8, Math.min(88, before.tilt + tilt)),
      }));
    },
    [setOrbit],
  );
  const choose: Choose = (item, add) => {
    if (!item) {
      if (!add && selection !== null) onSelect?.(null);
      return;
    }
    onSelect?.(
      add
        ? toggleSelection(selection, item.kind, item.id)
        : { kind: item.kind, ids: idsOfItem(shown.model, item) },
    );
  };

  const pointer = usePlanPointer(input, choose, turnBy);
  const onKeyDown = usePlanKeys(input, choose, turnBy, setAnnounced);
  return { announced, handlers: { ...pointer, onKeyDown } };
}
