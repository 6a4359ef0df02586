/** The logical view: nodes by family layout, trunks from group to group far away, single links near or on demand. */
import { formatCount } from "@/units";
import { HitIndex } from "../hit";
import { memoised, type PlanModel } from "../model";
import {
  type Batch,
  type DisplayList,
  LabelBuilder,
  type PathBatch,
  PathBuilder,
  RectBuilder,
} from "../primitives";
import type { Highlight } from "../selection";
import { levelStrokes } from "../strokes";
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
  batches.push(groupBatch(layout));
  if (options.linksMode === "all") {
    const count = Math.min(total, MAX_SINGLE_LINES);
    const ids = Uint32Array.from({ length: count }, (_, i) => i);
    batches.push(linkBatch(model, layout, ids, 0.7, total > 3000 ? 0.3 : 0.6));
    drawn = count;
  } else if (options.linksMode === "trunk") {
    what = "links in trunks";
    if (layout.buses.length > 0) {
      batches.push(...busBatches(model, layout));
      drawn = layout.buses.reduce((sum, bus) => sum + bus.cables, 0);
    } else {
      const trunks = trunksOf(model, layout);
      batches.push(...trunkBatches(layout, trunks));
      drawn = trunks.reduce((sum, trunk) => sum + trunk.cables, 0);
    }
  }
  batches.push(...nodeBatches(model, layout, hits), groupLabels(layout), ...tierLabels(model, layout));
  return { batches, bounds: layout.bounds, hits, drawn: Math.min(drawn, total), total, what };
}

function groupBatch(layout: LogicalLayout): Batch {
  const boxes = new RectBuilder();
  for (const { box, label } of layout.groups)
    if (label) boxes.add(box.x, box.y, box.width, box.height, "well");
  return boxes.batch({ stroke: { colour: "border", width: 1 } });
}

function groupLabels(layout: LogicalLayout): Batch {
  const labels = new LabelBuilder();
  for (const { box, label } of layout.groups) labels.add(label, box.x, box.y - 0.12, "muted", box.width);
  return labels.batch({ sizePx: 11, align: "left", baseline: "bottom", halo: "background" });
}

/** The name of each tier at the left of its row, in the layered picture. */
function tierLabels(model: PlanModel, layout: LogicalLayout): Batch[] {
  if (layout.link !== "flow") return [];
  const labels = new LabelBuilder();
  const seen = new Set<number>();
  for (let device = 0; device < model.devices.count; device++) {
    const level = model.devices.level[device]!;
    if (seen.has(level)) continue;
    seen.add(level);
    const title = model.scene.levels.find((l) => l.level === level)?.label;
    const text = level < 0 ? "servers" : `L${level}${title && title !== `L${level}` ? ` ${title}` : ""}`;
    const count = model.devices.level.reduce((n, l) => n + (l === level ? 1 : 0), 0);
    labels.add(
      `${text} \u00b7 ${formatCount(count)}`,
      layout.bounds.x + layout.bounds.width * 0.03,
      layout.y[device]! - (level < 0 ? 0.7 : layout.switchHeight / 2),
      "muted",
    );
  }
  return [
    labels.batch({ sizePx: 12, align: "left", baseline: "bottom", offsetPx: [0, -3], halo: "background" }),
  ];
}

function nodeBatches(model: PlanModel, layout: LogicalLayout, hits: HitIndex): Batch[] {
  const boxes = new RectBuilder();
  const names = new LabelBuilder();
  for (let device = 0; device < model.devices.count; device++) {
    const [x, y, width, height] = nodeBox(model, layout, device);
    const level = model.devices.level[device]!;
    boxes.add(x, y, width, height, level < 0 ? "server" : `level:${level}`);
    names.add(
      model.devices.names[device]!,
      x + width / 2,
      y + height / 2,
      level < 0 ? "ink" : `onlevel:${level}`,
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
  const labels = new LabelBuilder();
  for (const bus of layout.buses) {
    lines.add(bus.level, ...bus.points);
    const [x0, y0, x1, y1] = bus.points as [number, number, number, number];
    const flat = y0 === y1;
    labels.add(
      `${bus.label} \u00b7 ${formatCount(bus.cables)} links\t${bus.label} \u00b7 ${formatCount(bus.cables)}\t${bus.label}`,
      flat ? x0 + (x1 - x0) * 0.08 : x0,
      flat ? y0 : y0 + (y1 - y0) * 0.04,
      "muted",
      flat ? Infinity : 4,
    );
  }
  const strokes = levelStrokes(model, 0.34).map((stroke) => ({ ...stroke, world: true, dashPx: [] }));
  const cues = Array.from({ length: Math.max(1, model.levelCount) }, (_, level) => ({
    colour: "background" as const,
    width: 1,
    dashPx: level % 2 === 0 ? [2, 5] : [8, 4, 2, 4],
  }));
  return [
    lines.batch(strokes),
    lines.batch(cues, { minScale: 6 }),
    labels.batch({ sizePx: 11, align: "left", baseline: "middle", halo: "background", minScale: 7 }),
  ];
}

function trunkBatches(layout: LogicalLayout, trunks: readonly Trunk[]): Batch[] {
  const peak = trunks[0]?.cables ?? 1;
  const widths = [0.8, 1.6, 3, 5];
  const builder = new PathBuilder();
  const levels = trunks.reduce((most, trunk) => Math.max(most, trunk.level + 1), 1);
  // Weakest first, so that the strongest lie on top.
  for (const trunk of [...trunks].reverse()) {
    const a = layout.groups[trunk.a]!.box;
    const b = layout.groups[trunk.b]!.box;
    const step = Math.min(widths.length - 1, Math.floor(Math.sqrt(trunk.cables / peak) * widths.length));
    const [ax, ay, bx, by] = [a.x + a.width / 2, a.y + a.height / 2, b.x + b.width / 2, b.y + b.height / 2];
    builder.add(step * levels + trunk.level, ...curve(layout, ax, ay, bx, by));
  }
  const strokes = widths.flatMap((width) =>
    Array.from({ length: levels }, (_, level) => ({ colour: `level:${level}` as const, width })),
  );
  return [builder.batch(strokes, { shape: "cubic", alpha: trunks.length > 400 ? 0.3 : 0.5 })];
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

function linkBatch(
  model: PlanModel,
  layout: LogicalLayout,
  cables: ArrayLike<number>,
  widthPx: number,
  alpha: number,
): PathBatch {
  const builder = new PathBuilder();
  for (let i = 0; i < cables.length; i++) {
    const cable = cables[i]!;
    const a = model.cables.aDevice[cable]!;
    const b = model.cables.bDevice[cable]!;
    builder.add(
      model.cables.level[cable]!,
      ...curve(layout, layout.x[a]!, layout.y[a]!, layout.x[b]!, layout.y[b]!),
    );
  }
  return builder.batch(levelStrokes(model, widthPx), { shape: "cubic", alpha, counted: true });
}

export function logicalOverlay(model: PlanModel, highlight: Highlight): Batch[] {
  const layout = logicalLayout(model);
  const ids = highlight.cables.subarray(0, MAX_SELECTED_LINKS);
  const few = ids.length <= 200;
  const related = new RectBuilder();
  const selected = new RectBuilder();
  const names = new LabelBuilder();
  for (let device = 0; device < model.devices.count; device++) {
    const main = highlight.devices.has(device);
    if (!main && !highlight.relatedDevices.has(device)) continue;
    const [x, y, width, height] = nodeBox(model, layout, device);
    const level = model.devices.level[device]!;
    (main ? selected : related).add(x, y, width, height, level < 0 ? "server" : `level:${level}`);
    names.add(
      model.devices.names[device]!,
      x + width / 2,
      y + height / 2,
      level < 0 ? "ink" : `onlevel:${level}`,
      width * 0.94,
      height,
    );
  }
  const outlined = selected.count <= 128;
  return [
    linkBatch(model, layout, ids, few ? 1.8 : 0.9, few ? 0.95 : 0.45),
    related.batch(),
    selected.batch(outlined ? { stroke: { colour: "selection", width: 2 } } : {}),
    names.batch({ sizePx: 11, align: "center", baseline: "middle" }),
  ];
}
