/**
 * Keys over a picture of the plan: moving and turning the view, stepping through its items,
 * choosing one.
 */
import type { KeyboardEvent } from "react";
import { DEFAULT_ORBIT, type Selection, type SelectionKind, type ViewKind } from "@/scene";
import { describeHit } from "./canvas-tooltip";
import { compose } from "./transform";
import type { Choose, PlanInput, TurnBy } from "./use-plan-input";
import { PAN_STEP_PX, ZOOM_STEP } from "./use-zoom";

const ORBIT_STEP = 6;
const ARROWS: Readonly<Record<string, readonly [number, number] | undefined>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export function usePlanKeys(
  { shown, view, list, fit, zoom, hover, setHover, setOrbit, selection, onSelect, onHover }: PlanInput,
  choose: Choose,
  turnBy: TurnBy,
  announce: (text: string) => void,
) {
  /** Items in reading order, for the keyboard. */
  const step = (by: number) => {
    const kind = stepKind(view, selection);
    const ids = list.hits.idsOf(kind);
    if (ids.length === 0) return;
    const at =
      hover?.hit.item.kind === kind
        ? hover.hit.item.id
        : selection?.kind === kind
          ? selection.ids[0]
          : undefined;
    const place = at === undefined ? -1 : ids.indexOf(at);
    const next = place < 0 ? (by > 0 ? 0 : ids.length - 1) : (place + by + ids.length) % ids.length;
    const hit = list.hits.find(kind, ids[next]!);
    if (!hit) return;
    const transform = compose(fit, zoom.current());
    const outline = hit.outline ?? [0, 0];
    setHover({
      hit,
      x: outline[0]! * transform.scale + transform.x,
      y: outline[1]! * transform.scale + transform.y,
    });
    onHover?.(hit.item);
    const { title, lines } = describeHit(shown, hit.item);
    announce([title, ...lines].join(", "));
  };

  return (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const orbiting = view === "3d" && !event.shiftKey;
    const arrow = ARROWS[event.key];
    if (arrow) {
      const [dx, dy] = arrow;
      if (orbiting) turnBy(dx * ORBIT_STEP, -dy * ORBIT_STEP);
      else zoom.panBy(-dx * PAN_STEP_PX, -dy * PAN_STEP_PX);
    } else if (event.key === "+" || event.key === "=") zoom.zoomBy(ZOOM_STEP);
    else if (event.key === "-" || event.key === "_") zoom.zoomBy(1 / ZOOM_STEP);
    else if (event.key === "0") {
      zoom.reset();
      setOrbit(() => DEFAULT_ORBIT);
    } else if (event.key === "." || event.key === "]") step(1);
    else if (event.key === "," || event.key === "[") step(-1);
    else if (event.key === "Enter" || event.key === " ") {
      if (!hover) return;
      choose(hover.hit.item, event.shiftKey);
    } else if (event.key === "Escape") {
      if (!hover && selection === null) return;
      setHover(null);
      if (selection !== null) onSelect?.(null);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
}

function stepKind(view: ViewKind, selection: Selection): SelectionKind {
  if (view === "logical") return "device";
  if (view === "elevations" && selection?.kind === "device") return "device";
  if (view === "floor" && selection?.kind === "tray") return "tray";
  return "rack";
}
