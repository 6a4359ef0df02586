/**
 * The overlay of a selection on the floor plan: its racks, trays and cables are highlighted, and
 * everything else is dimmed.
 */
import { plural } from "@/units";
import { bundlePath, cableLines } from "./cable-lines";
import { type ColourScale, colourScale } from "./encoding";
import { calmScale, rackBox } from "./floor";
import { heatStyle } from "./heat";
import { csrSlice, type PlanModel } from "./model";
import { type Batch, PathBuilder, RectBuilder } from "./primitives";
import { RackLabels, scaleText } from "./rack-labels";
import type { Highlight } from "./selection";
import { levelStrokes } from "./strokes";
import { trayWidthMetres } from "./tray-width";
import type { ViewOptions } from "./view";

/** A selection with more cables than this shows bundles. */
const MAX_SELECTED_LINES = 6000;

export function floorOverlay(model: PlanModel, highlight: Highlight, options: ViewOptions): Batch[] {
  const scale = options.heat ? calmScale(model, options.heat) : colourScale(model, options.colourBy);
  const racks = rackBatches(model, highlight, scale);
  // Fills below the cables, outlines and names above them.
  return [
    ...racks.below,
    ...trayOutlines(model, highlight),
    ...linkBatches(model, highlight, options),
    ...racks.above,
  ];
}

function trayOutlines(model: PlanModel, highlight: Highlight): Batch[] {
  const { trays } = model.scene;
  const selected = highlight.trays.toArray();
  if (selected.length === 0) return [];
  const boxes = new RectBuilder();
  const half = trayWidthMetres(model) / 2;
  for (const tray of selected) {
    const x0 = Math.min(trays.x0_metres[tray]!, trays.x1_metres[tray]!);
    const x1 = Math.max(trays.x0_metres[tray]!, trays.x1_metres[tray]!);
    const y0 = Math.min(trays.y0_metres[tray]!, trays.y1_metres[tray]!);
    const y1 = Math.max(trays.y0_metres[tray]!, trays.y1_metres[tray]!);
    const flat = x1 - x0 >= y1 - y0;
    boxes.add(
      flat ? x0 : x0 - half,
      flat ? y0 - half : y0,
      flat ? x1 - x0 : half * 2,
      flat ? half * 2 : y1 - y0,
      "accentSoft",
    );
  }
  return [boxes.batch({ stroke: { colour: "selection", width: 2 } })];
}

function linkBatches(model: PlanModel, highlight: Highlight, { heat }: ViewOptions): Batch[] {
  if (highlight.cables.length > 0 && highlight.cables.length <= MAX_SELECTED_LINES) {
    const widthPx = highlight.cables.length <= 12 ? 2 : 1.2;
    const style = heat && heatStyle(heat, widthPx);
    return [cableLines(model, highlight.cables, { widthPx, style }).batch];
  }
  // Too many, or the cables are not there yet: one line a bundle and level, wider with more cables.
  const thin = new PathBuilder();
  const thick = new PathBuilder();
  const bundles = highlight.bundles.toArray();
  const width = trayWidthMetres(model);
  bundles.forEach((bundle, place) => {
    const lane = (place + 0.5) / bundles.length - 0.5;
    const path = bundlePath(model, bundle, lane, width);
    for (let level = 0; level < model.levelCount; level++) {
      const cables = model.bundleLevels[bundle * model.levelCount + level]!;
      if (cables > 0) (cables >= 16 ? thick : thin).add(level, ...path);
    }
  });
  return [thin.batch(levelStrokes(model, 1.2)), thick.batch(levelStrokes(model, 2.5))];
}

function rackBatches(
  model: PlanModel,
  highlight: Highlight,
  scale: ColourScale,
): { below: Batch[]; above: Batch[] } {
  const related = new RectBuilder();
  const selected = new RectBuilder();
  const labels = new RackLabels(model);
  const shared = sharedCables(model, highlight);
  const single = highlight.racks.count() === 1;
  for (let rack = 0; rack < model.racks.count; rack++) {
    const main = highlight.racks.has(rack);
    if (!main && !highlight.relatedRacks.has(rack)) continue;
    const box = rackBox(model, rack);
    (main ? selected : related).add(box.x, box.y, box.width, box.height, scale.colourOf(rack));
    const text =
      single && !main && shared[rack]! > 0
        ? `${plural(shared[rack]!, "cable")}\t\u00d7${shared[rack]!}`
        : scaleText(scale, rack);
    labels.add(rack, scale.kind === "none" && main ? "" : text, scale.inkOf(rack));
  }
  return {
    below: [related.batch({ insetPx: 0.5 }), selected.batch()],
    above: [
      related.batch({ hollow: true, stroke: { colour: "selection", width: 1.25 }, insetPx: 0.5 }),
      selected.batch({ hollow: true, stroke: { colour: "selection", width: 3 } }),
      ...labels.batches(),
    ],
  };
}

/** Cables between the one selected rack and each other rack. */
function sharedCables(model: PlanModel, highlight: Highlight): Uint32Array {
  const shared = new Uint32Array(model.racks.count);
  for (const rack of highlight.racks.toArray())
    for (const bundle of csrSlice(model.rackBundles, rack)) {
      const other = model.bundleA[bundle] === rack ? model.bundleB[bundle]! : model.bundleA[bundle]!;
      shared[other]! += model.scene.bundles.cables[bundle] ?? 0;
    }
  return shared;
}
