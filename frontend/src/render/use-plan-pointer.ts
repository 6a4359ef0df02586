/**
 * Pointer input on a picture of the plan: finding the item below, dragging the 3D view, selecting
 * by a click.
 */
import { type MouseEvent, type PointerEvent, useRef } from "react";
import type { Hit, HitIndex, HitItem } from "@/scene";
import { compose, toWorld } from "./transform";
import type { Choose, PlanInput, TurnBy } from "./use-plan-input";

/** Points within this distance of a line count as on it. */
const REACH_PX = 5;

export function usePlanPointer(
  { frame, view, list, marks, fit, zoom, hover, setHover, onHover }: PlanInput,
  choose: Choose,
  turnBy: TurnBy,
) {
  const hitAt = (clientX: number, clientY: number): { hit: Hit | null; x: number; y: number } => {
    const box = frame.current!.getBoundingClientRect();
    const [x, y] = [clientX - box.left, clientY - box.top];
    const transform = compose(fit, zoom.current());
    const [wx, wy] = toWorld(transform, x, y);
    const { scale } = transform;
    const under = (hits: HitIndex | undefined) => hits?.at(wx, wy, REACH_PX / scale, scale) ?? null;
    return { hit: under(marks?.hits) ?? under(list.hits), x, y };
  };

  const drag = useRef<{ x: number; y: number; orbiting: boolean; moved: boolean } | null>(null);
  const onPointerDown = (event: PointerEvent) => {
    drag.current = {
      x: event.clientX,
      y: event.clientY,
      orbiting: view === "3d" && !event.shiftKey && event.button === 0,
      moved: false,
    };
  };
  const onPointerMove = (event: PointerEvent) => {
    if (drag.current && event.buttons !== 0) {
      const [dx, dy] = [event.clientX - drag.current.x, event.clientY - drag.current.y];
      if (Math.hypot(dx, dy) > 3) drag.current.moved = true;
      if (drag.current.orbiting && drag.current.moved) {
        turnBy(-dx * 0.4, dy * 0.3);
        drag.current.x = event.clientX;
        drag.current.y = event.clientY;
      }
      return;
    }
    const { hit, x, y } = hitAt(event.clientX, event.clientY);
    if (!sameItem(hit?.item ?? null, hover?.hit.item ?? null)) onHover?.(hit?.item ?? null);
    setHover(hit ? { hit, x, y } : null);
  };
  const onPointerLeave = () => {
    setHover(null);
    onHover?.(null);
  };
  const onClick = (event: MouseEvent) => {
    if (drag.current?.moved) return;
    choose(
      hitAt(event.clientX, event.clientY).hit?.item ?? null,
      event.shiftKey || event.ctrlKey || event.metaKey,
    );
  };
  return { onPointerDown, onPointerMove, onPointerLeave, onClick };
}

function sameItem(a: HitItem | null, b: HitItem | null): boolean {
  return a === b || (a !== null && b !== null && a.kind === b.kind && a.id === b.id && a.other === b.other);
}
