/**
 * The logical view: nodes by family layout, trunks from group to group far away, single links near
 * or on demand.
 */
import { plural } from "@/units";
import { addDeviceName } from "../device-name";
import { coldToHot, heatClassOf, heatColour, heatInk, heatStyle, type LinkHeat } from "../heat";
import { HitIndex } from "../hit";
import { type Box, memoised, type PlanModel } from "../model";
import {
  type Batch,
  type DisplayList,
  LabelBuilder,
  type PathBatch,
  PathBuilder,
  RectBuilder,
} from "../primitives";
import type { Highlight } from "../selection";
import { type LineStyle, levelStrokes, levelStyle } from "../strokes";
import { MAX_SINGLE_LINES, type ViewOptions } from "../view";
import { type LogicalLayout, logicalLayout } from "./layout";

/** Trunks drawn at most; the strongest stay. */
const MAX_TRUNKS = 2400;
const MAX_SELECTED_LINKS = 8000;

interface Trunk {
  a: number;
  b: number;
  level: number;
  cables: number;
}

/** Cables between groups, by level; within a group they are not trunks. */
function trunksOf(model: PlanModel, layout: LogicalLayout): Trunk[] {
  return memoised(model, "logical-trunks", () => {
    const byKey = new Map<number, Trunk>();
    const groups = layout.groups.length;
    const { aDevice, bDevice, level } = model.cables;
    for (let cable = 0; cable < model.cables.count; cable++) {
      const a = layout.groupOf[aDevice[cable]!]!;
      const b = layout.groupOf[bDevice[cable]!]!;
      if (a === b || a < 0 || b < 0) continue;
      const [low, high] = a < b ? [a, b] : [b, a];
      const key = (low * groups + high) * 64 + level[cable]!;
      const trunk = byKey.get(key);
      if (trunk) trunk.cables++;
      else byKey.set(key, { a: low, b: high, level: level[cable]!, cables: 1 });
    }
    return [...byKey.values()]
      .sort((p, q) => q.cables - p.cables || p.a - q.a || p.b - q.b || p.level - q.level)
      .slice(0, MAX_TRUNKS);
  });
}

export function logicalList(model: PlanModel, options: ViewOptions): DisplayList {
  const layout = logicalLayout(model);
  const hits = new HitIndex();
  const batches: Batch[] = [];
  const total = model.cables.count;
  let drawn = 0;
  let what = "links";
  batches.push(...groupBatches(layout));
  const { heat } = options;
  if (heat) {
    const ids = coldToHot(heat, allCables(total), MAX_SINGLE_LINES);
    batches.push(linkBatch(model, layout, ids, heatStyle(heat, 0.8), total > 3000 ? 0.75 : 1));
    drawn = ids.length;
  } else if (options.linksMode === "all") {
    const ids = allCables(Math.min(total, MAX_SINGLE_LINES));
    batches.push(linkBatch(model, layout, ids, levelStyle(model, 0.7), total > 3000 ? 0.3 : 0.6));
    drawn = ids.length;
  } else if (options.linksMode === "trunk") {
    what = layout.allLinks ? "links" : "links in trunks";
    if (layout.allLinks) {
      const ids = allCables(Math.min(total, MAX_SINGLE_LINES));
      batches.push(linkBatch(model, layout, ids, levelStyle(model, 0.7), total > 600 ? 0.35 : 0.6));
      drawn = ids.length;
    } else if (layout.latticeReach !== undefined) {
      const near = latticeLinks(model, layout, layout.latticeReach);
      batches.push(linkBatch(model, layout, near, levelStyle(model, 1), 0.9));
      what = "links within a layer";
      drawn = near.length;
    } else if (layout.buses.length > 0) {
      batches.push(...busBatches(model, layout));
      drawn = layout.buses.reduce((sum, bus) => sum + bus.cables, 0);
    } else {
      const trunks = trunksOf(model, layout);
      batches.push(...trunkBatches(layout, trunks));
      drawn = trunks.reduce((sum, trunk) => sum + trunk.cables, 0);
    }
  }
  batches.push(...nodeBatches(model, layout, hits, heat), groupLabels(layout), ...tierLabels(model, layout));
  return { batches, bounds: layout.bounds, hits, drawn: Math.min(drawn, total), total, what };
}

function groupBatches(layout: LogicalLayout): Batch[] {
  const boxes = new RectBuilder();
  const discs = new RectBuilder();
  for (const { box, label, round } of layout.groups)
    if (label) (round ? discs : boxes).add(box.x, box.y, box.width, box.height, "well");
  const stroke = { colour: "border", width: 1 } as const;
  return [boxes.batch({ stroke }), discs.batch({ stroke, round: true })];
}

function groupLabels(layout: LogicalLayout): Batch {
  const labels = new LabelBuilder();
  for (const { box, label } of layout.groups) labels.add(label, box.x, box.y - 0.12, "muted", box.width);
  return labels.batch({ sizePx: 11, align: "left", baseline: "bottom", halo: "background" });
}

/** The name of each tier in the gutter next to its row, in the layered picture. */
function tierLabels(model: PlanModel, layout: LogicalLayout): Batch[] {
  if (layout.link !== "flow") return [];
  const names = new LabelBuilder();
  const notes = new LabelBuilder();
  const counts = new Map<number, { count: number; y: number }>();
  for (let device = 0; device < model.devices.count; device++) {
    const level = model.devices.level[device]!;
    const tier = counts.get(level);
    if (tier) tier.count++;
    else counts.set(level, { count: 1, y: layout.y[device]! });
  }
  const { x, width } = layout.bounds;
  const space = (layout.gutter ?? 0) * 0.95;
  for (const [level, { count, y }] of [...counts.entries()].sort(([a], [b]) => a - b)) {
    const note = model.scene.levels.find((l) => l.level === level)?.label ?? "";
    names.add(
      level < 0 ? plural(count, "server") : `L${level} \u00b7 ${plural(count, "switch", "switches")}`,
      x + width * 0.01,
      y,
      "ink",
      space,
    );
    if (level >= 0 && note !== `L${level}`) notes.add(note, x + width * 0.01, y, "muted", space);
  }
  return [
    names.batch({
      sizePx: 12,
      weight: 600,
      align: "left",
      baseline: "bottom",
      offsetPx: [0, 3],
      overflow: "ellipsis",
    }),
    notes.batch({ sizePx: 11, align: "left", baseline: "top", offsetPx: [0, 5], overflow: "ellipsis" }),
  ];
}

/** Links between nodes at most `reach` apart. */
function latticeLinks(model: PlanModel, layout: LogicalLayout, reach: number): Uint32Array {
  const near: number[] = [];
  const { aDevice, bDevice } = model.cables;
  for (let cable = 0; cable < model.cables.count && near.length < MAX_SINGLE_LINES; cable++) {
    const [a, b] = [aDevice[cable]!, bDevice[cable]!];
    if (Math.hypot(layout.x[a]! - layout.x[b]!, layout.y[a]! - layout.y[b]!) <= reach) near.push(cable);
  }
  return Uint32Array.from(near);
}

/** With `heat`, each node in the colour of its fullest link. */
function nodeBatches(
  model: PlanModel,
  layout: LogicalLayout,
  hits: HitIndex,
  heat: LinkHeat | undefined,
): Batch[] {
  const boxes = new RectBuilder();
  const names = new LabelBuilder();
  for (let device = 0; device < model.devices.count; device++) {
    const [x, y, width, height] = nodeBox(model, layout, device);
    const level = model.devices.level[device]!;
    const hot = heat && heatClassOf(model, heat, { kind: "device", id: device });
    const fill =
      hot !== undefined ? heatColour(hot) : level < 0 ? ("server" as const) : (`level:${level}` as const);
    boxes.add(x, y, width, height, fill);
    names.add(
      model.devices.names[device]!,
      x + width / 2,
      y + height / 2,
      hot !== undefined ? heatInk(hot) : level < 0 ? "ink" : `onlevel:${level}`,
      width * 0.94,
      height,
    );
    hits.addBox({ kind: "device", id: device }, x, y, width, height);
  }
  return [boxes.batch(), names.batch({ sizePx: 11, align: "center", baseline: "middle", overflow: "hide" })];
}

function nodeBox(model: PlanModel, layout: LogicalLayout, device: number): [number, number, number, number] {
  const height = model.devices.level[device]! < 0 ? layout.nodeHeight : layout.switchHeight;
  return [layout.x[device]! - layout.nodeWidth / 2, layout.y[device]! - height / 2, layout.nodeWidth, height];
}

function busBatches(model: PlanModel, layout: LogicalLayout): Batch[] {
  const lines = new PathBuilder();
  for (const bus of layout.buses) lines.add(bus.level, ...bus.points);
  const strokes = levelStrokes(model, 0.34).map((stroke) => ({ ...stroke, world: true, dashPx: [] }));
  const cues = Array.from({ length: Math.max(1, model.levelCount) }, (_, level) => ({
    colour: "background" as const,
    width: 1,
    dashPx: level % 2 === 0 ? [2, 5] : [8, 4, 2, 4],
  }));
  return [lines.batch(strokes), lines.batch(cues, { minScale: 6 })];
}

function trunkBatches(layout: LogicalLayout, trunks: readonly Trunk[]): Batch[] {
  const widths = [1, 1.8, 3, 5];
  const builder = new PathBuilder();
  const levels = trunks.reduce((most, trunk) => Math.max(most, trunk.level + 1), 1);
  // Weakest first, so that the strongest lie on top.
  for (const trunk of [...trunks].reverse()) {
    const a = layout.groups[trunk.a]!.box;
    const b = layout.groups[trunk.b]!.box;
    // Twice as wide for every eightfold number of cables.
    const step = Math.min(widths.length - 1, Math.floor(Math.log2(trunk.cables) / 3));
    const [ax, bx] = [a.x + a.width / 2, b.x + b.width / 2];
    const [ay, by] = trunkEnds(layout, a, b);
    builder.add(step * levels + trunk.level, ...curve(layout, ax, ay, bx, by));
  }
  const strokes = widths.flatMap((width) =>
    Array.from({ length: levels }, (_, level) => ({ colour: `level:${level}` as const, width })),
  );
  return [builder.batch(strokes, { shape: "cubic", alpha: trunks.length > 400 ? 0.3 : 0.5 })];
}

/** A flow leaves the lower group at its top and enters the upper one at its bottom. */
function trunkEnds(layout: LogicalLayout, a: Box, b: Box): [number, number] {
  if (layout.link !== "flow") return [a.y + a.height / 2, b.y + b.height / 2];
  return a.y > b.y ? [a.y, b.y + b.height] : [a.y + a.height, b.y];
}

/** Start, two handles, end. */
function curve(layout: LogicalLayout, ax: number, ay: number, bx: number, by: number): number[] {
  if (layout.link === "flow") {
    const middle = (ay + by) / 2;
    return [ax, ay, ax, middle, bx, middle, bx, by];
  }
  const bow = 0.07;
  const [dx, dy] = [bx - ax, by - ay];
  return [
    ax,
    ay,
    ax + dx * 0.3 + dy * bow,
    ay + dy * 0.3 - dx * bow,
    bx - dx * 0.3 + dy * bow,
    by - dy * 0.3 - dx * bow,
    bx,
    by,
  ];
}

const allCables = (count: number) => Uint32Array.from({ length: count }, (_, cable) => cable);

function linkBatch(
  model: PlanModel,
  layout: LogicalLayout,
  cables: ArrayLike<number>,
  style: LineStyle,
  alpha: number,
): PathBatch {
  const builder = new PathBuilder();
  for (let i = 0; i < cables.length; i++) {
    const cable = cables[i]!;
    const a = model.cables.aDevice[cable]!;
    const b = model.cables.bDevice[cable]!;
    builder.add(style.of(cable), ...curve(layout, layout.x[a]!, layout.y[a]!, layout.x[b]!, layout.y[b]!));
  }
  return builder.batch(style.strokes, { shape: "cubic", alpha, counted: true });
}

export function logicalOverlay(model: PlanModel, highlight: Highlight, { heat }: ViewOptions): Batch[] {
  const layout = logicalLayout(model);
  const ids = highlight.cables.subarray(0, MAX_SELECTED_LINKS);
  const [widthPx, alpha] = ids.length <= 200 ? [1.8, 0.95] : [0.9, 0.45];
  const related = new RectBuilder();
  const selected = new RectBuilder();
  const names = new LabelBuilder();
  for (let device = 0; device < model.devices.count; device++) {
    const main = highlight.devices.has(device);
    if (!main && !highlight.relatedDevices.has(device)) continue;
    const [x, y, width, height] = nodeBox(model, layout, device);
    const level = model.devices.level[device]!;
    (main ? selected : related).add(x, y, width, height, level < 0 ? "server" : `level:${level}`);
    addDeviceName(names, model, device, [x, y, width, height]);
  }
  const outlined = selected.count <= 128;
  return [
    linkBatch(model, layout, ids, heat ? heatStyle(heat, widthPx) : levelStyle(model, widthPx), alpha),
    related.batch(),
    selected.batch(outlined ? { stroke: { colour: "selection", width: 2 } } : {}),
    names.batch({ sizePx: 11, align: "center", baseline: "middle" }),
  ];
}
