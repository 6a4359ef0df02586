/**
 * Pointer and keyboard input on the picture: finding and selecting the item at a position, stepping
 * through all items, moving the view.
 */
import { type KeyboardEvent, type MouseEvent, type PointerEvent, type RefObject, useRef } from "react";
import { PAN_STEP_PX, type useZoom, ZOOM_STEP } from "@/render/use-zoom";
import type { Item, Network } from "../session/network";
import { hitAt, type Layout } from "./layouts/layout";
import { type Hover, hoveredItem } from "./picture-tooltip";

const ARROWS: Readonly<Record<string, readonly [number, number] | undefined>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The pointer selects a link up to this distance. */
const REACH_PX = 6;
/** A pointer that moved further than this has dragged, not clicked. */
const DRAG_PX = 3;

export function usePictureInput({
  frame,
  network,
  layout,
  zoom,
  hover,
  setHover,
  selection,
  onSelect,
}: {
  frame: RefObject<HTMLElement | null>;
  network: Network;
  layout: Layout | null;
  zoom: ReturnType<typeof useZoom>;
  hover: Hover | null;
  setHover: (hover: Hover | null) => void;
  selection: Item | null;
  onSelect: (item: Item | null) => void;
}) {
  const at = (event: { clientX: number; clientY: number }): Hover | null => {
    if (!layout || !frame.current) return null;
    const box = frame.current.getBoundingClientRect();
    const { k, x, y } = zoom.current();
    return hitAt(
      network,
      layout,
      (event.clientX - box.left - x) / k,
      (event.clientY - box.top - y) / k,
      REACH_PX / k,
    );
  };
  const drag = useRef<{ x: number; y: number } | null>(null);
  const onPointerMove = (event: PointerEvent) => {
    if (event.buttons !== 0) return;
    const hit = at(event);
    if (JSON.stringify(hit) !== JSON.stringify(hover)) setHover(hit);
  };
  const onClick = (event: MouseEvent) => {
    const from = drag.current;
    if (from && Math.hypot(event.clientX - from.x, event.clientY - from.y) > DRAG_PX) return;
    const hit = at(event);
    onSelect(hit ? hoveredItem(network, hit) : null);
  };
  const count = network.servers + network.switches + network.links;
  const stepBy = (by: number) => {
    const nodes = network.servers + network.switches;
    const now = hover ? ("node" in hover ? hover.node : nodes + hover.link) : by > 0 ? -1 : count;
    const next = (now + by + count) % count;
    setHover(next < nodes ? { node: next } : { link: next - nodes });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    if (arrow) zoom.panBy(-arrow[0] * PAN_STEP_PX, -arrow[1] * PAN_STEP_PX);
    else if (event.key === "+" || event.key === "=") zoom.zoomBy(ZOOM_STEP);
    else if (event.key === "-") zoom.zoomBy(1 / ZOOM_STEP);
    else if (event.key === "0") zoom.reset();
    else if (event.key === ".") stepBy(1);
    else if (event.key === ",") stepBy(-1);
    else if ((event.key === "Enter" || event.key === " ") && hover) onSelect(hoveredItem(network, hover));
    else if (event.key === "Escape" && (hover || selection)) {
      setHover(null);
      onSelect(null);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return {
    onPointerDown: (event: PointerEvent) => {
      drag.current = { x: event.clientX, y: event.clientY };
    },
    onPointerMove,
    onPointerLeave: () => setHover(null),
    onClick,
    onKeyDown,
  };
}
