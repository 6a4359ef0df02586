/** Plan documents and view state to primitives: pure, deterministic, without a DOM. */
import { elevationList, elevationOverlay } from "./elevations";
import { floorList } from "./floor";
import { floorOverlay } from "./floor-overlay";
import { logicalList, logicalOverlay } from "./logical/list";
import { matrixList, matrixOverlay } from "./matrix";
import type { PlanModel } from "./model";
import type { Batch, DisplayList } from "./primitives";
import type { Highlight } from "./selection";
import { solidList, solidOverlay } from "./solid";
import type { ViewKind, ViewOptions } from "./view";

export * from "./bitset";
export * from "./describe";
export * from "./document";
export * from "./encoding";
export * from "./heat";
export * from "./hit";
export { matrixStops, rackMatrix } from "./matrix";
export * from "./model";
export * from "./primitives";
export * from "./selection";
export { DEFAULT_ORBIT } from "./solid";
export * from "./struck";
export * from "./view";

/**
 * The picture itself; it changes with the plan and the options, not with the selection, the zoom or
 * the theme.
 */
export function buildView(model: PlanModel, view: ViewKind, options: ViewOptions): DisplayList {
  switch (view) {
    case "floor":
      return floorList(model, options);
    case "elevations":
      return elevationList(model, options);
    case "logical":
      return logicalList(model, options);
    case "matrix":
      return matrixList(model);
    case "3d":
      return solidList(model, options);
  }
}

/** The overlay that a selection paints over the picture. */
export function buildOverlay(
  model: PlanModel,
  view: ViewKind,
  highlight: Highlight,
  options: ViewOptions,
): readonly Batch[] {
  switch (view) {
    case "floor":
      return floorOverlay(model, highlight, options);
    case "elevations":
      return elevationOverlay(model, highlight, options);
    case "logical":
      return logicalOverlay(model, highlight, options);
    case "matrix":
      return matrixOverlay(model, highlight);
    case "3d":
      return solidOverlay(model, highlight, options);
  }
}
