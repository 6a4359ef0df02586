/** The plan as a picture that can be looked into: pan, zoom, hover, select, by pointer and by keyboard. */

import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  type Ref,
  useCallback,
  useEffect,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import {
  buildOverlay,
  buildView,
  type ColourBy,
  DEFAULT_ORBIT,
  describe,
  describeHeat,
  describeStruck,
  describeView,
  type Face,
  floorMarks,
  type Hit,
  type HitIndex,
  type HitItem,
  highlightOf,
  type LinkHeat,
  type LinksMode,
  type PlanModel,
  type Selection,
  type SelectionKind,
  type Struck,
  toggleSelection,
  VIEW_TITLES,
  type ViewKind,
  type ViewOptions,
} from "@/scene";
import { formatPercent, formatShare, THEMES, type ThemeName } from "@/units";
import { pictureCanvas } from "./export";
import styles from "./plan-canvas.module.css";
import { type PaintStats, Stage } from "./stage";
import { toSvg } from "./svg-painter";
import { compose, fitTransform, type Size, toWorld } from "./transform";
import { PAN_STEP_PX, useZoom, ZOOM_STEP } from "./use-zoom";

export interface ViewInfo {
  zoomPercent: number;
  /** "N of M": links drawn, links there are, and what was counted. */
  drawn: number;
  total: number;
  what: string;
  stats: PaintStats;
}

export interface PlanCanvasHandle {
  zoomIn(): void;
  zoomOut(): void;
  fit(): void;
  pan(dxPx: number, dyPx: number): void;
  /** All of the view, not only the part in sight, with the selection. */
  toSvg(provenance?: string): string;
  toPngBlob(ratio?: number): Promise<Blob>;
  focus(): void;
}

export interface PlanCanvasProps {
  model: PlanModel;
  view: ViewKind;
  selection?: Selection;
  colourBy?: ColourBy;
  linksMode?: LinksMode;
  /** Links by what they carry instead of by level. */
  heat?: LinkHeat;
  /** What is broken; it is marked on the floor. */
  struck?: Struck;
  theme: ThemeName;
  /** Racks of the elevations; all when absent. */
  racks?: readonly number[];
  face?: Face;
  onSelect?: (selection: Selection) => void;
  onHover?: (item: HitItem | null) => void;
  onView?: (info: ViewInfo) => void;
  handleRef?: Ref<PlanCanvasHandle>;
  /** A table with the same content. */
  describedBy?: string;
  /** Replaces the spoken name of the picture. */
  label?: string;
  tooltip?: boolean;
  caption?: boolean;
  className?: string;
}

/** Points within this distance of a line count as on it. */
const REACH_PX = 5;
const ORBIT_STEP = 6;
const CAPTION_PX = 16;

export function PlanCanvas(props: PlanCanvasProps) {
  const { model, view, heat, struck, theme, racks, face, onSelect, onHover, onView } = props;
  const selection = props.selection ?? null;
  const colourBy = props.colourBy ?? "power";
  const linksMode = props.linksMode ?? "trunk";
  const frame = useRef<HTMLDivElement>(null);
  const baseCanvas = useRef<HTMLCanvasElement>(null);
  const overCanvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<Stage | null>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const [orbit, setOrbit] = useState(DEFAULT_ORBIT);
  const [hover, setHover] = useState<{ hit: Hit; x: number; y: number } | null>(null);
  const [announced, setAnnounced] = useState("");
  const [stats, setStats] = useState<PaintStats>({ links: 0, selectedLinks: 0, baseMs: 0, overlayMs: 0 });
  const [zoomPercent, setZoomPercent] = useState(100);
  const helpId = useId();

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
  // The caption has a line of its own below the picture.
  const foot = props.caption === false ? 0 : CAPTION_PX;
  const fit = useMemo(
    () => fitTransform({ x: bx, y: by, width: bw, height: bh }, { ...size, height: size.height - foot }),
    [bx, by, bw, bh, size, foot],
  );

  const zoom = useZoom(
    frame,
    (event) => view !== "3d" || event.shiftKey,
    (transform, gesture) => {
      stage.current?.setTransform(compose(fit, transform), gesture);
      setZoomPercent(Math.round(transform.k * 100));
      setHover(null);
    },
  );

  useLayoutEffect(() => {
    if (!baseCanvas.current || !overCanvas.current) return;
    const made = new Stage(baseCanvas.current, overCanvas.current, (painted) => {
      setStats((before) =>
        before.links === painted.links && before.selectedLinks === painted.selectedLinks
          ? before
          : { ...painted },
      );
    });
    stage.current = made;
    return () => {
      made.destroy();
      stage.current = null;
    };
  }, []);

  useLayoutEffect(() => {
    const node = frame.current;
    if (!node) return;
    const measure = () => {
      setSize((before) =>
        before.width === node.clientWidth && before.height === node.clientHeight
          ? before
          : { width: node.clientWidth, height: node.clientHeight },
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    return () => observer.disconnect();
  }, []);

  // Order matters: picture and place first, then the size, which paints at once.
  useLayoutEffect(() => stage.current?.setPicture(list, theme), [list, theme]);
  useLayoutEffect(() => stage.current?.setOverlay(overlay), [overlay]);
  useLayoutEffect(() => stage.current?.setMarks(marks?.batches ?? []), [marks]);
  useLayoutEffect(() => {
    stage.current?.setTransform(compose(fit, zoom.current()), false);
  }, [fit, zoom]);
  useLayoutEffect(() => {
    if (size.width > 0) stage.current?.resize(size, window.devicePixelRatio || 1);
  }, [size]);
  useEffect(() => stage.current?.setHover(hover?.hit ?? null), [hover]);
  // Another view is another place: its zoom starts anew. A changed plan keeps the place.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `view` is the trigger, not an input
  useEffect(() => zoom.reset(), [view, zoom]);

  const info = useMemo<ViewInfo>(() => {
    if (highlight)
      return {
        zoomPercent,
        drawn: highlight.cables.length,
        total: highlight.totalCables,
        what: `cables of ${highlight.label}`,
        stats,
      };
    const single = stats.links > 0;
    const drawn = single ? stats.links : list.drawn;
    return {
      zoomPercent,
      drawn,
      total: list.total,
      what: single ? (view === "logical" ? "links, one by one" : "cables, one by one") : list.what,
      stats,
    };
  }, [highlight, list, stats, view, zoomPercent]);
  useEffect(() => onView?.(info), [info, onView]);

  const above = useMemo(() => [...(overlay ?? []), ...(marks?.batches ?? [])], [overlay, marks]);
  useImperativeHandle(
    props.handleRef,
    () => ({
      zoomIn: () => zoom.zoomBy(ZOOM_STEP),
      zoomOut: () => zoom.zoomBy(1 / ZOOM_STEP),
      fit: () => zoom.reset(),
      pan: (dx, dy) => zoom.panBy(dx, dy),
      toSvg: (provenance) =>
        toSvg(list, {
          theme,
          size,
          overlay: above,
          title: VIEW_TITLES[view],
          description: describeView(model, view, options),
          provenance,
        }),
      toPngBlob: (ratio = 2) => pictureCanvas(list, above, theme, size, ratio),
      focus: () => frame.current?.focus(),
    }),
    [zoom, list, above, theme, size, view, model, options],
  );

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
  const turnBy = useCallback((turn: number, tilt: number) => {
    setOrbit((before) => ({
      turn: (before.turn + turn) % 360,
      tilt: Math.max(8, Math.min(88, before.tilt + tilt)),
    }));
  }, []);
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
    const { title, lines } = describeHit({ model, heat, struck }, hit.item);
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
      setOrbit(DEFAULT_ORBIT);
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

  const tokens = THEMES[theme];
  return (
    <div
      ref={frame}
      className={[styles.frame, hover ? styles.pointing : "", props.className ?? ""].join(" ")}
      role="application"
      aria-roledescription="plan picture"
      aria-label={props.label ?? describeView(model, view, options)}
      aria-describedby={[helpId, props.describedBy].filter(Boolean).join(" ")}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the picture takes keys as an application
      tabIndex={0}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerLeave={onPointerLeave}
      onClick={onClick}
      onKeyDown={onKeyDown}
      data-view={view}
      data-drawn={info.drawn}
      data-total={info.total}
    >
      <canvas ref={baseCanvas} className={styles.layer} />
      <canvas ref={overCanvas} className={styles.layer} />
      <span id={helpId} className={styles.unseen}>
        {view === "3d" ? "Arrow keys turn, with Shift they move. " : "Arrow keys move. "}
        Plus and minus zoom, 0 shows all, full stop and comma step through the items, Enter selects, Escape
        clears.
      </span>
      <output className={styles.unseen} aria-live="polite">
        {announced}
      </output>
      {props.caption !== false && (
        <div className={styles.caption} style={{ color: tokens.muted, background: tokens.background }}>
          {formatShare(info.drawn, info.total)} {info.what} · {formatPercent(zoomPercent / 100)}
        </div>
      )}
      {props.tooltip !== false && hover && (
        <Tooltip shown={{ model, heat, struck }} hover={hover} size={size} theme={theme} />
      )}
    </div>
  );
}

const ARROWS: Readonly<Record<string, readonly [number, number] | undefined>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

type Shown = Pick<PlanCanvasProps, "model" | "heat" | "struck">;

/** What an item is, what is broken of it, and what its links carry where that is shown. */
function describeHit({ model, heat, struck }: Shown, item: HitItem) {
  const { title, lines } = describe(model, item);
  const broken = struck ? describeStruck(model, struck, item) : [];
  const carried = heat ? describeHeat(model, heat, item) : "";
  return { title, lines: [...broken, ...(carried === "" ? [] : [carried]), ...lines] };
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

function Tooltip({
  shown,
  hover,
  size,
  theme,
}: {
  shown: Shown;
  hover: { hit: Hit; x: number; y: number };
  size: Size;
  theme: ThemeName;
}) {
  const { title, lines } = describeHit(shown, hover.hit.item);
  const tokens = THEMES[theme];
  const place: CSSProperties = {
    color: tokens.ink,
    background: tokens.background,
    ...(hover.x > size.width - 240 ? { right: size.width - hover.x + 12 } : { left: hover.x + 14 }),
    ...(hover.y > size.height - 110 ? { bottom: size.height - hover.y + 10 } : { top: hover.y + 14 }),
  };
  return (
    <div className={styles.tooltip} style={place} aria-hidden="true">
      <strong>{title}</strong>
      {lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  );
}
