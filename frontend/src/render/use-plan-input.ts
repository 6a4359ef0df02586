/** Pointer and keys over a picture of the plan: what lies under them, choosing it, stepping through items, moving the view. */
import {
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  type RefObject,
  useCallback,
  useRef,
  useState,
} from "react";
import {
  DEFAULT_ORBIT,
  type DisplayList,
  type Hit,
  type HitIndex,
  type HitItem,
  type Selection,
  type SelectionKind,
  type StruckMarks,
  toggleSelection,
  type ViewKind,
} from "@/scene";
import { describeHit, type Hovered, type Shown } from "./canvas-tooltip";
import { compose, type Transform, toWorld } from "./transform";
import { PAN_STEP_PX, ZOOM_STEP, type ZoomControls } from "./use-zoom";

/** Points within this distance of a line count as on it. */
const REACH_PX = 5;
const ORBIT_STEP = 6;
const ARROWS: Readonly<Record<string, readonly [number, number] | undefined>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

interface PlanInput {
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

export function usePlanInput({
  frame,
  shown,
  view,
  list,
  marks,
  fit,
  zoom,
  hover,
  setHover,
  setOrbit,
  selection,
  onSelect,
  onHover,
}: PlanInput) {
  /** What stepping through the items came to, for who hears the page. */
  const [announced, setAnnounced] = useState("");
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
  const turnBy = useCallback(
    (turn: number, tilt: number) => {
      setOrbit((before) => ({
        turn: (before.turn + turn) % 360,
        tilt: Math.max(8, Math.min(88, before.tilt + tilt)),
      }));
    },
    [setOrbit],
  );
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
  const choose = (item: HitItem | null, add: boolean) => {
    if (!item) {
      if (!add && selection !== null) onSelect?.(null);
      return;
    }
    onSelect?.(add ? toggleSelection(selection, item.kind, item.id) : { kind: item.kind, ids: [item.id] });
  };

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
    setAnnounced([title, ...lines].join(", "));
  };

  const onKeyDown = (event: KeyboardEvent) => {
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

  return { announced, handlers: { onPointerDown, onPointerMove, onPointerLeave, onClick, onKeyDown } };
}

function sameItem(a: HitItem | null, b: HitItem | null): boolean {
  return a === b || (a !== null && b !== null && a.kind === b.kind && a.id === b.id && a.other === b.other);
}

function stepKind(view: ViewKind, selection: Selection): SelectionKind {
  if (view === "logical") return "device";
  if (view === "elevations" && selection?.kind === "device") return "device";
  if (view === "floor" && selection?.kind === "tray") return "tray";
  return "rack";
}
