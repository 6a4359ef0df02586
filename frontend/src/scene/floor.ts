/**
 * The floor plan from above: enclosure, racks, trays as ribbons of their levels, or single cables.
 */
import { formatPercent, formatShort } from "@/units";
import { cableLines, leavingCables } from "./cable-lines";
import { type ColourScale, colourScale } from "./encoding";
import { coldToHot, heatStyle, hottestOf, type LinkHeat } from "./heat";
import { HitIndex } from "./hit";
import { type Box, hasBreakouts, type PlanModel } from "./model";
import { type Batch, type DisplayList, LabelBuilder, PathBuilder, RectBuilder } from "./primitives";
import { RackLabels, scaleText } from "./rack-labels";
import { peakTrayCables, trayWidthMetres } from "./tray-width";
import { MAX_SINGLE_LINES, type ViewOptions } from "./view";

/** Above this number of CSS pixels per metre, single cables are drawn instead of trunks. */
export const SINGLE_CABLES_SCALE = 210;
/** The dashes along a ribbon need space: CSS pixels per metre. */
const CUE_MIN_SCALE = 100;
/** A tray with few cables is still a target of this width. */
const MIN_TARGET_METRES = 0.05;
/** Free ground next to a tray's ribbons. */
const CASING_METRES = 0.018;
/** Below this many CSS pixels, a rack is drawn as part of its row. */
const RACK_MIN_PX = 4;

export function floorList(model: PlanModel, options: ViewOptions): DisplayList {
  const { heat } = options;
  const scale = heat ? calmScale(model, heat) : colourScale(model, options.colourBy);
  const hits = new HitIndex();
  const batches: Batch[] = [...enclosureBatches(model), ...rackBatches(model, scale, hits)];
  const leaving = leavingCables(model);
  const linksMode = heat ? "all" : options.linksMode;
  let drawn = 0;
  const rows = hasBreakouts(model) ? "links" : "cables";
  const what = linksMode === "trunk" ? `${rows} in trunks` : rows;
  if (linksMode === "all") {
    const lines = heat
      ? cableLines(model, coldToHot(heat, leaving, MAX_SINGLE_LINES), { style: heatStyle(heat, 0.8) })
      : cableLines(model, leaving, { widthPx: 0.8, alpha: 0.75 });
    batches.push(...trayBatches(model, "bed", hits), lines.batch);
    drawn = lines.cables.length;
  } else if (linksMode === "trunk") {
    const single = leaving.length > 0 && leaving.length <= MAX_SINGLE_LINES;
    batches.push(...trayBatches(model, "ribbons", hits, single ? SINGLE_CABLES_SCALE : Infinity));
    if (single)
      batches.push(
        ...trayBatches(model, "bed", new HitIndex(), Infinity, SINGLE_CABLES_SCALE),
        cableLines(model, leaving, { widthPx: 1, minScale: SINGLE_CABLES_SCALE }).batch,
      );
    for (let bundle = 0; bundle < model.bundleCount; bundle++)
      drawn += model.scene.bundles.cables[bundle] ?? 0;
  } else {
    batches.push(...trayBatches(model, "bed", hits));
  }
  batches.push(...rackLabelBatches(model, scale, linksMode === "all"), ...trayLabelBatches(model));
  return {
    batches,
    bounds: floorBounds(model),
    hits,
    drawn,
    total: model.cables.count || totalCables(model),
    what,
  };
}

/** Racks in one colour, each with what its fullest link carries, if that is anything. */
export function calmScale(model: PlanModel, heat: LinkHeat): ColourScale {
  const values = Float64Array.from({ length: model.racks.count }, (_, rack) => {
    const hottest = hottestOf(model, heat, { kind: "rack", id: rack });
    return hottest < 0 ? Number.NaN : heat.values[hottest]!;
  });
  const text = (rack: number) => (values[rack]! > 0 ? heat.format(values[rack]!) : "");
  return {
    by: "cables",
    title: heat.title,
    kind: "flat",
    domain: [0, 0],
    stops: [],
    values,
    colourOf: () => "rack",
    inkOf: () => "ink",
    text,
    short: text,
    colourOfValue: () => "rack",
  };
}

function totalCables(model: PlanModel): number {
  return model.scene.bundles.cables.reduce((sum, cables) => sum + cables, 0);
}

function marginMetres(floor: Box): number {
  return Math.max(0.42, Math.min(floor.width, floor.height * 3) * 0.045);
}

export function floorBounds(model: PlanModel): Box {
  const { floor } = model;
  const margin = marginMetres(floor);
  return {
    x: floor.x - margin,
    y: floor.y - margin,
    width: floor.width + margin * 1.4,
    height: floor.height + margin * 1.4,
  };
}

function enclosureBatches(model: PlanModel): Batch[] {
  const { enclosure } = model.scene;
  const { length_metres: length, width_metres: width } = enclosure;
  const ground = new RectBuilder();
  ground.add(0, 0, length, width, "well");
  const margin = marginMetres(model.floor);
  const lines = new PathBuilder();
  const [top, left] = [-margin * 0.45, -margin * 0.45];
  const tick = margin * 0.16;
  // Dimension lines with a gap for their text.
  const gap = Math.max(margin * 1.1, Math.max(length, width) * 0.055);
  const gapX = Math.min(length * 0.3, gap);
  const gapY = Math.min(width * 0.35, gap);
  lines.add(0, 0, top, length / 2 - gapX, top);
  lines.add(0, length / 2 + gapX, top, length, top);
  lines.add(0, 0, top - tick, 0, top + tick);
  lines.add(0, length, top - tick, length, top + tick);
  lines.add(0, left, 0, left, width / 2 - gapY);
  lines.add(0, left, width / 2 + gapY, left, width);
  lines.add(0, left - tick, 0, left + tick, 0);
  lines.add(0, left - tick, width, left + tick, width);
  const across = new LabelBuilder();
  across.add(dimension(length), length / 2, top, "muted");
  const down = new LabelBuilder();
  down.add(dimension(width), left, width / 2, "muted");
  const container = enclosure.kind !== "rows";
  return [
    ground.batch({ stroke: { colour: container ? "rule" : "border", width: container ? 2 : 1 } }),
    lines.batch([{ colour: "rackEdge", width: 1 }]),
    across.batch({ sizePx: 12, align: "center", baseline: "middle" }),
    down.batch({ sizePx: 12, align: "center", baseline: "middle", turn: -90 }),
  ];
}

/** Walls are given to the centimetre. */
function dimension(metres: number): string {
  return `${formatShort(metres, 2)}\u00a0m`;
}

function rackBatches(model: PlanModel, scale: ColourScale, hits: HitIndex): Batch[] {
  const { racks } = model;
  const boxes = new RectBuilder();
  const fronts = new PathBuilder();
  let narrowest = Infinity;
  for (let rack = 0; rack < racks.count; rack++) {
    const box = rackBox(model, rack);
    narrowest = Math.min(narrowest, box.width);
    boxes.add(box.x, box.y, box.width, box.height, scale.colourOf(rack));
    const inset = box.height * 0.035;
    const y = racks.facesNorth[rack] === 1 ? box.y + inset : box.y + box.height - inset;
    fronts.add(0, box.x + box.width * 0.06, y, box.x + box.width * 0.94, y);
    hits.addBox({ kind: "rack", id: rack }, box.x, box.y, box.width, box.height);
  }
  const minScale = racks.count > 200 && narrowest < Infinity ? RACK_MIN_PX / narrowest : 0;
  const batches: Batch[] = [
    boxes.batch({ stroke: { colour: "rackEdge", width: 0.75 }, insetPx: 0.5, minScale }),
    fronts.batch([{ colour: "selection", width: 2 }], { alpha: 0.55, minScale: Math.max(minScale, 40) }),
  ];
  if (minScale > 0) batches.unshift(rowBatch(model, scale, minScale));
  return batches;
}

/** Far away a row is one box a group, in the colour of its mean. */
function rowBatch(model: PlanModel, scale: ColourScale, maxScale: number): Batch {
  const rows = new RectBuilder();
  for (const row of model.rows) {
    let start = 0;
    for (let i = 1; i <= row.length; i++) {
      const same = i < row.length && model.racks.group[row[i]!] === model.racks.group[row[start]!];
      if (same) continue;
      const run = row.slice(start, i);
      const boxes = run.map((rack) => rackBox(model, rack));
      const x = Math.min(...boxes.map((b) => b.x));
      const y = Math.min(...boxes.map((b) => b.y));
      const right = Math.max(...boxes.map((b) => b.x + b.width));
      const bottom = Math.max(...boxes.map((b) => b.y + b.height));
      const mean = run.reduce((sum, rack) => sum + scale.values[rack]!, 0) / run.length;
      rows.add(x, y, right - x, bottom - y, scale.colourOfValue(mean));
      start = i;
    }
  }
  return rows.batch({ maxScale, stroke: { colour: "rackEdge", width: 0.5 } });
}

export function rackBox(model: PlanModel, rack: number): Box {
  const { x, y, width, depth } = model.racks;
  return {
    x: x[rack]! - width[rack]! / 2,
    y: y[rack]! - depth[rack]! / 2,
    width: width[rack]!,
    height: depth[rack]!,
  };
}

function rackLabelBatches(model: PlanModel, scale: ColourScale, overLines: boolean): Batch[] {
  const labels = new RackLabels(model, overLines);
  for (let rack = 0; rack < model.racks.count; rack++)
    labels.add(rack, scale.kind === "none" ? "" : scaleText(scale, rack), scale.inkOf(rack));
  return labels.batches();
}

/** The ribbon of one level in a tray: its offset across the tray and its width, in metres. */
export function trayRibbons(
  model: PlanModel,
  tray: number,
): { level: number; offset: number; width: number }[] {
  const perCable = trayWidthMetres(model) / peakTrayCables(model);
  const levels = model.trayLevels.subarray(tray * model.levelCount, (tray + 1) * model.levelCount);
  const total = levels.reduce((sum, n) => sum + n, 0) * perCable;
  const ribbons: { level: number; offset: number; width: number }[] = [];
  let at = -total / 2;
  levels.forEach((cables, level) => {
    const width = cables * perCable;
    if (width > 0) ribbons.push({ level, offset: at, width });
    at += width;
  });
  return ribbons;
}

function trayBatches(
  model: PlanModel,
  look: "ribbons" | "bed",
  hits: HitIndex,
  maxScale = Infinity,
  minScale = 0,
): Batch[] {
  const { trays } = model.scene;
  const rects = new RectBuilder();
  const faint = new RectBuilder();
  const casing = new RectBuilder();
  const cues = new PathBuilder();
  const bed = trayWidthMetres(model);
  for (let tray = 0; tray < model.trayCount; tray++) {
    const [x0, y0, x1, y1] = [
      trays.x0_metres[tray]!,
      trays.y0_metres[tray]!,
      trays.x1_metres[tray]!,
      trays.y1_metres[tray]!,
    ];
    const horizontal = Math.abs(x1 - x0) >= Math.abs(y1 - y0);
    const ribbon = (offset: number, width: number): Box =>
      horizontal
        ? { x: Math.min(x0, x1), y: y0 + offset, width: Math.abs(x1 - x0), height: width }
        : { x: x0 + offset, y: Math.min(y0, y1), width, height: Math.abs(y1 - y0) };
    const whole = ribbon(-bed / 2, bed);
    // The target is as wide as the drawn tray: outside of it, over racks, users point at the rack.
    const load = Math.max(MIN_TARGET_METRES, bed * (trays.cables[tray]! / peakTrayCables(model)));
    const target = ribbon(-load / 2, load);
    for (const { box, over } of trays.kind[tray] === "crossing"
      ? aislePieces(model, target)
      : [{ box: target, over: false }])
      if (!over) hits.addBox({ kind: "tray", id: tray }, box.x, box.y, box.width, box.height);
    if (look === "bed") {
      rects.add(whole.x, whole.y, whole.width, whole.height, "grid");
      continue;
    }
    const ribbons = trayRibbons(model, tray);
    const across = ribbons.reduce((sum, r) => sum + r.width, 0);
    if (across > 0 && trays.kind[tray] !== "crossing") {
      const box = ribbon(-across / 2 - CASING_METRES, across + 2 * CASING_METRES);
      casing.add(box.x, box.y, box.width, box.height, "background");
    }
    for (const { level, offset, width } of ribbons) {
      const box = ribbon(offset, width);
      for (const piece of trays.kind[tray] === "crossing" ? aislePieces(model, box) : [{ box, over: false }])
        (piece.over ? faint : rects).add(
          piece.box.x,
          piece.box.y,
          piece.box.width,
          piece.box.height,
          `level:${level}`,
        );
      const mid = offset + width / 2;
      cues.add(
        level,
        horizontal ? x0 : x0 + mid,
        horizontal ? y0 + mid : y0,
        horizontal ? x1 : x0 + mid,
        horizontal ? y0 + mid : y1,
      );
    }
  }
  if (look === "bed") return [rects.batch({ maxScale, minScale, alpha: 0.9 })];
  // The second cue of a ribbon: its level's dash in the ground colour along its middle.
  const strokes = Array.from({ length: Math.max(1, model.levelCount) }, (_, level) => ({
    colour: "background" as const,
    width: 1,
    dashPx: level === 0 ? [0, 1000] : dashOf(level),
  }));
  return [
    casing.batch({ maxScale, minScale, alpha: 0.85 }),
    faint.batch({ maxScale, minScale, alpha: 0.3 }),
    rects.batch({ maxScale, minScale }),
    cues.batch(strokes, { alpha: 0.75, maxScale, minScale: Math.max(minScale, CUE_MIN_SCALE) }),
  ];
}

/** A crossing, cut where it passes over racks, so that their names stay readable. */
function aislePieces(model: PlanModel, box: Box): { box: Box; over: boolean }[] {
  const cuts = new Set([box.y, box.y + box.height]);
  const below: Box[] = [];
  for (let rack = 0; rack < model.racks.count; rack++) {
    const r = rackBox(model, rack);
    if (r.x >= box.x + box.width || r.x + r.width <= box.x) continue;
    if (r.y >= box.y + box.height || r.y + r.height <= box.y) continue;
    below.push(r);
    for (const y of [r.y, r.y + r.height]) if (y > box.y && y < box.y + box.height) cuts.add(y);
  }
  const ys = [...cuts].sort((a, b) => a - b);
  return ys.slice(1).map((y1, i) => {
    const y0 = ys[i]!;
    const over = below.some((r) => (y0 + y1) / 2 > r.y && (y0 + y1) / 2 < r.y + r.height);
    return { box: { ...box, y: y0, height: y1 - y0 }, over };
  });
}

function dashOf(level: number): readonly number[] {
  return [[], [8, 6], [2, 5], [8, 4, 2, 4], [4, 4], [12, 4, 2, 4]][level % 6] ?? [];
}

function trayLabelBatches(model: PlanModel): Batch[] {
  const { trays } = model.scene;
  if (model.trayCount === 0) return [];
  let peak = 0;
  for (let tray = 1; tray < model.trayCount; tray++) if (trays.fill[tray]! > trays.fill[peak]!) peak = tray;
  const labels = new LabelBuilder();
  const { enclosure } = model.scene;
  labels.add(
    `peak tray fill ${formatPercent(trays.fill[peak]!)} at ${trays.name[peak] ?? ""}`,
    enclosure.length_metres,
    enclosure.width_metres,
    "muted",
    enclosure.length_metres * 0.5,
  );
  return [labels.batch({ sizePx: 11, align: "right", baseline: "top", offsetPx: [0, 5] })];
}
