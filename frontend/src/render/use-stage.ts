/** Passes the data to paint to the stage, in the required order. */
import { type RefObject, useEffect, useLayoutEffect, useState } from "react";
import type { ThemeName } from "@/units";
import type { Hovered } from "./canvas-tooltip";
import { type PaintStats, Stage } from "./stage";
import { compose, type Size } from "./transform";
import type { PlanPicture } from "./use-plan-picture";
import type { ZoomControls } from "./use-zoom";

/**
 * Creates the stage on its two canvases and updates it with the picture; returns the content that
 * was painted last.
 */
export function useStage({
  stage,
  baseCanvas,
  overCanvas,
  picture: { list, overlay, marks, fit },
  theme,
  size,
  zoom,
  hover,
}: {
  /** Filled here; zooming paints through it without a render. */
  stage: RefObject<Stage | null>;
  baseCanvas: RefObject<HTMLCanvasElement | null>;
  overCanvas: RefObject<HTMLCanvasElement | null>;
  picture: PlanPicture;
  theme: ThemeName;
  size: Size;
  zoom: ZoomControls;
  hover: Hovered | null;
}): PaintStats {
  const [stats, setStats] = useState<PaintStats>({ links: 0, selectedLinks: 0, baseMs: 0, overlayMs: 0 });
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
  }, [stage, baseCanvas, overCanvas]);

  // Order matters: picture and place first, then the size, which paints at once.
  useLayoutEffect(() => stage.current?.setPicture(list, theme), [stage, list, theme]);
  useLayoutEffect(() => stage.current?.setOverlay(overlay), [stage, overlay]);
  useLayoutEffect(() => stage.current?.setMarks(marks?.batches ?? []), [stage, marks]);
  useLayoutEffect(() => {
    stage.current?.setTransform(compose(fit, zoom.current()), false);
  }, [stage, fit, zoom]);
  useLayoutEffect(() => {
    if (size.width > 0) stage.current?.resize(size, window.devicePixelRatio || 1);
  }, [stage, size]);
  useEffect(() => stage.current?.setHover(hover?.hit ?? null), [stage, hover]);
  return stats;
}
