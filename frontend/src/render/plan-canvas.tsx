/** The plan as a picture that can be looked into: pan, zoom, hover, select, by pointer and by keyboard. */

import {
  type Ref,
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
  describeView,
  type Face,
  floorMarks,
  type HitItem,
  highlightOf,
  type LinkHeat,
  type LinksMode,
  type PlanModel,
  type Selection,
  type Struck,
  VIEW_TITLES,
  type ViewKind,
  type ViewOptions,
} from "@/scene";
import { formatPercent, formatShare, THEMES, type ThemeName } from "@/units";
import { CanvasTooltip, type Hovered } from "./canvas-tooltip";
import { pictureCanvas } from "./export";
import styles from "./plan-canvas.module.css";
import { type PaintStats, Stage } from "./stage";
import { toSvg } from "./svg-painter";
import { compose, fitTransform } from "./transform";
import { usePlanInput } from "./use-plan-input";
import { useSize } from "./use-size";
import { useZoom, ZOOM_STEP } from "./use-zoom";

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
  const size = useSize(frame);
  const [orbit, setOrbit] = useState(DEFAULT_ORBIT);
  const [hover, setHover] = useState<Hovered | null>(null);
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

  const shown = { model, heat, struck };
  const { announced, handlers } = usePlanInput({
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
  });

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
      {...handlers}
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
        <CanvasTooltip shown={shown} hover={hover} size={size} theme={theme} />
      )}
    </div>
  );
}
