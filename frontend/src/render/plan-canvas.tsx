/** An interactive picture of the plan: pan, zoom, hover, select, by pointer and by keyboard. */
import { type Ref, useEffect, useId, useMemo, useRef, useState } from "react";
import { DEFAULT_ORBIT, describeView, type HitItem, type Selection } from "@/scene";
import { formatPercent, formatShare, THEMES, type ThemeName } from "@/units";
import { CanvasTooltip, type Hovered } from "./canvas-tooltip";
import { type Pin, Pins } from "./pins";
import styles from "./plan-canvas.module.css";
import type { Stage } from "./stage";
import { compose, type Transform } from "./transform";
import { type PlanCanvasHandle, useCanvasHandle } from "./use-canvas-handle";
import { usePlanInput } from "./use-plan-input";
import { type Shows, usePlanPicture } from "./use-plan-picture";
import { useSize } from "./use-size";
import { useStage } from "./use-stage";
import { useZoom } from "./use-zoom";
import { type ViewInfo, viewInfo } from "./view-info";

export type { PlanCanvasHandle, ViewInfo };

export interface PlanCanvasProps extends Shows {
  theme: ThemeName;
  onSelect?: (selection: Selection) => void;
  onHover?: (item: HitItem | null) => void;
  onView?: (info: ViewInfo) => void;
  handleRef?: Ref<PlanCanvasHandle>;
  /** Marks on the floor plan; other views have none. */
  pins?: readonly Pin[];
  /** A table with the same content. */
  describedBy?: string;
  /** Replaces the spoken name of the picture. */
  label?: string;
  tooltip?: boolean;
  caption?: boolean;
  className?: string;
}

/** Height of the caption, in a separate line below the picture. */
const CAPTION_PX = 16;

export function PlanCanvas(props: PlanCanvasProps) {
  const { model, view, heat, struck, theme, onSelect, onHover, onView } = props;
  const selection = props.selection ?? null;
  const frame = useRef<HTMLDivElement>(null);
  const baseCanvas = useRef<HTMLCanvasElement>(null);
  const overCanvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<Stage | null>(null);
  const size = useSize(frame);
  const [orbit, setOrbit] = useState(DEFAULT_ORBIT);
  const [hover, setHover] = useState<Hovered | null>(null);
  const [zoomPercent, setZoomPercent] = useState(100);
  const helpId = useId();

  const picture = usePlanPicture(props, { orbit, size, foot: props.caption === false ? 0 : CAPTION_PX });
  const { options, list, highlight, marks, fit } = picture;

  const zoom = useZoom(
    frame,
    (event) => view !== "3d" || event.shiftKey,
    (transform, gesture) => {
      stage.current?.setTransform(compose(fit, transform), gesture);
      place(frame.current, compose(fit, transform));
      setZoomPercent(Math.round(transform.k * 100));
      setHover(null);
    },
  );

  useEffect(() => place(frame.current, compose(fit, zoom.current())), [fit, zoom]);
  const stats = useStage({ stage, baseCanvas, overCanvas, picture, theme, size, zoom, hover });
  // A change of the view resets the zoom. A change of the plan keeps the zoom.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `view` is the trigger, not an input
  useEffect(() => zoom.reset(), [view, zoom]);

  const info = useMemo(
    () => viewInfo({ highlight, list, stats, view, zoomPercent }),
    [highlight, list, stats, view, zoomPercent],
  );
  useEffect(() => onView?.(info), [info, onView]);

  useCanvasHandle(props.handleRef, { frame, model, view, picture, theme, size, zoom });

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
      {view === "floor" && props.pins && <Pins pins={props.pins} onSelect={onSelect} />}
      <span id={helpId} className="visually-hidden">
        {view === "3d" ? "Arrow keys turn, with Shift they move. " : "Arrow keys move. "}
        Plus and minus zoom, 0 shows all, full stop and comma step through the items, Enter selects, Escape
        clears.
      </span>
      <output className="visually-hidden" aria-live="polite">
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

/**
 * Passes the current shift and scale to the marks over the picture, without painting them again.
 */
function place(frame: HTMLElement | null, { scale, x, y }: Transform): void {
  frame?.style.setProperty("--scale", String(scale));
  frame?.style.setProperty("--dx", String(x));
  frame?.style.setProperty("--dy", String(y));
}
