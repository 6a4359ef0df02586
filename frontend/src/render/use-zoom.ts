/** d3-zoom on an element, with the same moves for the keyboard. */
import { select } from "d3-selection";
import {
  type D3ZoomEvent,
  type ZoomBehavior,
  type ZoomTransform,
  zoom as zoomBehaviour,
  zoomIdentity,
} from "d3-zoom";
import { type RefObject, useEffect, useMemo, useRef } from "react";

export const ZOOM_STEP = 1.4;
export const PAN_STEP_PX = 60;
const EXTENT: [number, number] = [0.5, 80];

export interface ZoomControls {
  zoomBy(factor: number): void;
  panBy(dxPx: number, dyPx: number): void;
  reset(): void;
  current(): ZoomTransform;
}

export function useZoom(
  element: RefObject<HTMLElement | null>,
  /** Whether a drag that starts with this event pans; wheel and pinch always zoom. */
  dragPans: (event: MouseEvent | TouchEvent) => boolean,
  onZoom: (transform: ZoomTransform, gesture: boolean) => void,
): ZoomControls {
  const behaviour = useRef<ZoomBehavior<HTMLElement, unknown> | null>(null);
  const listener = useRef(onZoom);
  const pans = useRef(dragPans);
  const last = useRef<ZoomTransform>(zoomIdentity);
  useEffect(() => {
    listener.current = onZoom;
    pans.current = dragPans;
  });
  useEffect(() => {
    const node = element.current;
    if (!node) return;
    const zoom = zoomBehaviour<HTMLElement, unknown>()
      .scaleExtent(EXTENT)
      .filter((event: MouseEvent | WheelEvent | TouchEvent) => {
        if (event.type === "wheel") return true;
        if (event instanceof MouseEvent && event.button !== 0) return false;
        return event.type === "dblclick" || pans.current(event as MouseEvent | TouchEvent);
      })
      .on("zoom", (event: D3ZoomEvent<HTMLElement, unknown>) => {
        last.current = event.transform;
        listener.current(event.transform, event.sourceEvent !== null && event.sourceEvent !== undefined);
      });
    behaviour.current = zoom;
    const selection = select<HTMLElement, unknown>(node);
    selection.call(zoom);
    return () => {
      selection.on(".zoom", null);
      behaviour.current = null;
    };
  }, [element]);
  return useMemo(() => {
    const apply = (change: (zoom: ZoomBehavior<HTMLElement, unknown>, node: HTMLElement) => void) => {
      if (behaviour.current && element.current) change(behaviour.current, element.current);
    };
    return {
      zoomBy: (factor) =>
        apply((zoom, node) => select<HTMLElement, unknown>(node).call(zoom.scaleBy, factor)),
      panBy: (dx, dy) =>
        apply((zoom, node) => {
          const k = last.current.k;
          select<HTMLElement, unknown>(node).call(zoom.translateBy, dx / k, dy / k);
        }),
      reset: () =>
        apply((zoom, node) => select<HTMLElement, unknown>(node).call(zoom.transform, zoomIdentity)),
      current: () => last.current,
    };
  }, [element]);
}
