/** The actions of a page on a picture: zoom, pan, and save the whole view as SVG or PNG. */
import { type Ref, type RefObject, useImperativeHandle, useMemo } from "react";
import { describeView, type PlanModel, VIEW_TITLES, type ViewKind } from "@/scene";
import type { ThemeName } from "@/units";
import { pictureCanvas } from "./export";
import { toSvg } from "./svg-painter";
import type { Size } from "./transform";
import type { PlanPicture } from "./use-plan-picture";
import { ZOOM_STEP, type ZoomControls } from "./use-zoom";

export interface PlanCanvasHandle {
  zoomIn(): void;
  zoomOut(): void;
  fit(): void;
  pan(dxPx: number, dyPx: number): void;
  /** All of the view, not only its visible part, with the selection. */
  toSvg(provenance?: string): string;
  toPngBlob(ratio?: number): Promise<Blob>;
  focus(): void;
}

export function useCanvasHandle(
  handleRef: Ref<PlanCanvasHandle> | undefined,
  {
    frame,
    model,
    view,
    picture: { list, overlay, marks, options },
    theme,
    size,
    zoom,
  }: {
    frame: RefObject<HTMLElement | null>;
    model: PlanModel;
    view: ViewKind;
    picture: PlanPicture;
    theme: ThemeName;
    size: Size;
    zoom: ZoomControls;
  },
): void {
  const above = useMemo(() => [...(overlay ?? []), ...(marks?.batches ?? [])], [overlay, marks]);
  useImperativeHandle(
    handleRef,
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
    [frame, zoom, list, above, theme, size, view, model, options],
  );
}
