/** Strokes of the levels: colour and dash always together, so that colour is never the only cue. */
import { levelDashPx } from "@/units";
import type { PlanModel } from "./model";
import type { StrokeStyle } from "./primitives";

/** How cables are drawn: the strokes there are, and which of them a cable has. */
export interface LineStyle {
  strokes: readonly StrokeStyle[];
  of: (cable: number) => number;
}

export function levelStroke(level: number, widthPx: number): StrokeStyle {
  return { colour: `level:${level}`, width: widthPx, dashPx: levelDashPx(level) };
}

export function levelStrokes(model: PlanModel, widthPx: number): StrokeStyle[] {
  return Array.from({ length: Math.max(1, model.levelCount) }, (_, level) => levelStroke(level, widthPx));
}

export function levelStyle(model: PlanModel, widthPx: number): LineStyle {
  return { strokes: levelStrokes(model, widthPx), of: (cable) => model.cables.level[cable]! };
}
