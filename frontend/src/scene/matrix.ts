/**
 * Cables between every two racks as a heat map; the diagonal holds the cables that stay in their
 * rack.
 */
import { formatCount, RAMP_STEPS } from "@/units";
import { HitIndex } from "./hit";
import { cableRacks, memoised, type PlanModel } from "./model";
import {
  type Batch,
  type ColourRef,
  type DisplayList,
  LabelBuilder,
  PathBuilder,
  RectBuilder,
} from "./primitives";
import type { Highlight } from "./selection";

export interface RackMatrix {
  size: number;
  /** Cables between rack row and rack column, row-major, symmetric. */
  cables: Uint32Array;
  /** Bundle between them; -1 where there is none. */
  bundle: Int32Array;
  /** Most cables between two different racks. */
  peak: number;
}

/** Racks beyond this make the matrix one of groups. */
export const MAX_MATRIX_RACKS = 512;

export function rackMatrix(model: PlanModel): RackMatrix {
  return memoised(model, "rack-matrix", () => {
    const size = Math.min(model.racks.count, MAX_MATRIX_RACKS);
    const cables = new Uint32Array(size * size);
    const bundle = new Int32Array(size * size).fill(-1);
    let peak = 0;
    for (let i = 0; i < model.bundleCount; i++) {
      const [a, b] = [model.bundleA[i]!, model.bundleB[i]!];
      if (a >= size || b >= size) continue;
      const count = model.scene.bundles.cables[i] ?? 0;
      for (const cell of [a * size + b, b * size + a]) {
        cables[cell]! += count;
        bundle[cell] = i;
        peak = Math.max(peak, cables[cell]!);
      }
    }
    for (let cable = 0; cable < model.cables.count; cable++) {
      const [a, b] = cableRacks(model, cable);
      if (a === b && a < size) cables[a * size + a]!++;
    }
    return { size, cables, bundle, peak };
  });
}

/**
 * The colour for a number of cables; the square root spreads the many small counts next to a few
 * large ones.
 */
export function matrixColour(cables: number, peak: number): ColourRef {
  if (cables === 0) return "well";
  return `ramp:${Math.min(RAMP_STEPS - 1, Math.floor(Math.sqrt(cables / peak) * (RAMP_STEPS - 1)))}`;
}

export function matrixStops(model: PlanModel): { colour: ColourRef; text: string }[] {
  const { peak } = rackMatrix(model);
  if (peak === 0) return [];
  const counts = [
    ...new Set([1, 0.1, 0.3, 0.6, 1].map((s, i) => (i === 0 ? 1 : Math.max(1, Math.round(peak * s))))),
  ];
  return counts.sort((a, b) => a - b).map((n) => ({ colour: matrixColour(n, peak), text: formatCount(n) }));
}

export function matrixList(model: PlanModel): DisplayList {
  const matrix = rackMatrix(model);
  const { size, cables, peak } = matrix;
  const hits = new HitIndex();
  const cells = new RectBuilder();
  const diagonal = new RectBuilder();
  const numbers = new LabelBuilder();
  const rows = new LabelBuilder();
  const columns = new LabelBuilder();
  let pairs = 0;
  const ground = new RectBuilder();
  ground.add(0, 0, size, size, "well");
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const count = cables[row * size + column]!;
      const item =
        row === column
          ? ({ kind: "rack", id: row } as const)
          : ({ kind: "bundle", id: matrix.bundle[row * size + column]!, other: column } as const);
      if (count > 0) hits.addBox(item, column, row, 1, 1);
      if (count === 0) continue;
      if (row < column) pairs++;
      if (row === column) {
        diagonal.add(column, row, 1, 1, "rack");
        numbers.add(formatCount(count), column + 0.5, row + 0.5, "muted", 0.96, 0.9);
        continue;
      }
      const colour = matrixColour(count, peak);
      cells.add(column, row, 1, 1, colour);
      const ink = colour.startsWith("ramp:") ? (`onramp:${Number(colour.slice(5))}` as const) : "ink";
      numbers.add(formatCount(count), column + 0.5, row + 0.5, ink, 0.96, 0.9);
    }
    rows.add(model.racks.names[row]!, -0.25, row + 0.5, "ink", Infinity, 1);
    columns.add(model.racks.names[row]!, row + 0.5, -0.25, "ink", Infinity, 1);
  }
  const separators = groupSeparators(model, size);
  return {
    batches: [
      ground.batch({ stroke: { colour: "border", width: 1 } }),
      diagonal.batch({ insetPx: 0.5 }),
      cells.batch({ insetPx: 0.5 }),
      separators,
      numbers.batch({ sizePx: 11, align: "center", baseline: "middle" }),
      rows.batch({ sizePx: 11, align: "right", baseline: "middle" }),
      columns.batch({ sizePx: 11, align: "left", baseline: "middle", turn: -90 }),
      ...sparseLabels(model, size),
    ],
    bounds: {
      x: -size * 0.09 - 0.8,
      y: -size * 0.075 - 0.8,
      width: size * 1.11 + 1,
      height: size * 1.09 + 1,
    },
    hits,
    drawn: pairs,
    total: (model.racks.count * (model.racks.count - 1)) / 2,
    what: "rack pairs with cables",
  };
}

/** Lines where the group changes along rows and columns. */
function groupSeparators(model: PlanModel, size: number): Batch {
  const lines = new PathBuilder();
  for (let rack = 1; rack < size; rack++)
    if (model.racks.group[rack] !== model.racks.group[rack - 1]) {
      lines.add(0, rack, 0, rack, size);
      lines.add(0, 0, rack, size, rack);
    }
  return lines.batch([{ colour: "rule", width: 1 }], { alpha: 0.8 });
}

/** If cells are too small for every name, every tenth cell has its name. */
function sparseLabels(model: PlanModel, size: number): Batch[] {
  if (size <= 24) return [];
  const step = 10 ** Math.max(1, Math.ceil(Math.log10(size / 40)));
  const maxScale = 12;
  const rows = new LabelBuilder();
  const columns = new LabelBuilder();
  for (let rack = 0; rack < size; rack += step) {
    rows.add(model.racks.names[rack]!, -0.25, rack + 0.5, "ink");
    columns.add(model.racks.names[rack]!, rack + 0.5, -0.25, "ink");
  }
  return [
    rows.batch({ sizePx: 11, align: "right", baseline: "middle", maxScale }),
    columns.batch({ sizePx: 11, align: "left", baseline: "middle", turn: -90, maxScale }),
  ];
}

export function matrixOverlay(model: PlanModel, highlight: Highlight): Batch[] {
  const matrix = rackMatrix(model);
  const { size, cables, peak } = matrix;
  const bands = new RectBuilder();
  const cells = new RectBuilder();
  const marked = new RectBuilder();
  const numbers = new LabelBuilder();
  const whole = highlight.racks.toArray();
  for (const rack of whole) {
    if (rack >= size) continue;
    bands.add(0, rack, size, 1, "accent");
    bands.add(rack, 0, 1, size, "accent");
  }
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++) {
      const bundle = matrix.bundle[row * size + column]!;
      if (bundle < 0 || !highlight.bundles.has(bundle)) continue;
      const count = cables[row * size + column]!;
      const colour = matrixColour(count, peak);
      (whole.length > 0 ? cells : marked).add(column, row, 1, 1, colour);
      const ink = colour.startsWith("ramp:") ? (`onramp:${Number(colour.slice(5))}` as const) : "ink";
      numbers.add(formatCount(count), column + 0.5, row + 0.5, ink, 0.96, 0.9);
    }
  const few = marked.count <= 64;
  return [
    cells.batch({ insetPx: 0.5 }),
    marked.batch(few ? { stroke: { colour: "selection", width: 2 } } : { insetPx: 0.5 }),
    numbers.batch({ sizePx: 11, align: "center", baseline: "middle" }),
    bands.batch({ hollow: true, stroke: { colour: "selection", width: 2 } }),
  ];
}
