/**
 * Finds the item under the pointer: boxes, polygons and segments in a uniform grid, built at the
 * first query. The last one added wins, because it was painted last; a segment wins over a box,
 * because it is the smaller target.
 */
import type { Box } from "./model";
import type { SelectionKind } from "./selection";

export interface HitItem {
  kind: SelectionKind;
  id: number;
  /** The second rack of a matrix cell. */
  other?: number;
}

/** An item with the outline of its mark in world units (x, y pairs); null for a line. */
export interface Hit {
  item: HitItem;
  outline: readonly number[] | null;
}

interface Entry extends HitItem {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  segment: boolean;
  polygon: readonly number[] | null;
  minScale: number;
  maxScale: number;
}

const CELLS_A_SIDE = 64;

export class HitIndex {
  private readonly entries: Entry[] = [];
  private cells: number[][] | null = null;
  /** The first mark of every item, made when one is first looked for. */
  private firsts: Map<string, Entry> | null = null;
  private box: Box = { x: 0, y: 0, width: 1, height: 1 };

  get size(): number {
    return this.entries.length;
  }

  addBox(item: HitItem, x: number, y: number, width: number, height: number, minScale = 0): void {
    this.push(item, x, y, x + width, y + height, false, null, minScale);
  }

  addSegment(
    item: HitItem,
    x0: number,
    y0: number,
    x1: number,
    y1: number,
    minScale = 0,
    maxScale = Infinity,
  ): void {
    this.push(item, x0, y0, x1, y1, true, null, minScale, maxScale);
  }

  addPolygon(item: HitItem, xy: readonly number[], minScale = 0): void {
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < xy.length; i += 2) {
      x0 = Math.min(x0, xy[i]!);
      x1 = Math.max(x1, xy[i]!);
      y0 = Math.min(y0, xy[i + 1]!);
      y1 = Math.max(y1, xy[i + 1]!);
    }
    this.push(item, x0, y0, x1, y1, false, xy, minScale);
  }

  /** The item at a world point; `tolerance` in world units is how far from a line still counts. */
  at(x: number, y: number, tolerance: number, scale: number): Hit | null {
    if (this.entries.length === 0) return null;
    const cells = this.cells ?? this.build();
    let best: Entry | null = null;
    let bestSegment: Entry | null = null;
    let nearest = tolerance;
    const reach = Math.max(tolerance, 0);
    const [c0, r0] = this.cellOf(x - reach, y - reach);
    const [c1, r1] = this.cellOf(x + reach, y + reach);
    let bestIndex = -1;
    for (let row = r0; row <= r1; row++)
      for (let column = c0; column <= c1; column++)
        for (const index of cells[row * CELLS_A_SIDE + column]!) {
          const e = this.entries[index]!;
          if (scale < e.minScale || scale >= e.maxScale) continue;
          if (e.segment) {
            const distance = segmentDistance(x, y, e);
            if (distance < nearest) {
              nearest = distance;
              bestSegment = e;
            }
          } else if (index > bestIndex && x >= e.x0 && x <= e.x1 && y >= e.y0 && y <= e.y1) {
            if (e.polygon && !insidePolygon(x, y, e.polygon)) continue;
            best = e;
            bestIndex = index;
          }
        }
    const match = bestSegment ?? best;
    return match ? hitOf(match) : null;
  }

  /** The mark of an item, for keyboard focus; the first one when it has several. */
  find(kind: SelectionKind, id: number): Hit | null {
    if (!this.firsts) {
      this.firsts = new Map();
      for (const e of this.entries) {
        const key = keyOf(e.kind, e.id);
        if (!this.firsts.has(key)) this.firsts.set(key, e);
      }
    }
    const entry = this.firsts.get(keyOf(kind, id));
    return entry ? hitOf(entry) : null;
  }

  /** Ids of the items of a kind, in the order they were added. */
  idsOf(kind: SelectionKind): number[] {
    const ids = new Set<number>();
    for (const e of this.entries) if (e.kind === kind) ids.add(e.id);
    return [...ids];
  }

  private push(
    item: HitItem,
    x0: number,
    y0: number,
    x1: number,
    y1: number,
    segment: boolean,
    polygon: readonly number[] | null,
    minScale: number,
    maxScale = Infinity,
  ): void {
    this.entries.push({ ...item, x0, y0, x1, y1, segment, polygon, minScale, maxScale });
    this.cells = null;
    this.firsts = null;
  }

  private cellOf(x: number, y: number): [column: number, row: number] {
    const clamp = (value: number) => Math.max(0, Math.min(CELLS_A_SIDE - 1, Math.floor(value)));
    return [
      clamp(((x - this.box.x) / this.box.width) * CELLS_A_SIDE),
      clamp(((y - this.box.y) / this.box.height) * CELLS_A_SIDE),
    ];
  }

  private build(): number[][] {
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const e of this.entries) {
      x0 = Math.min(x0, e.x0, e.x1);
      x1 = Math.max(x1, e.x0, e.x1);
      y0 = Math.min(y0, e.y0, e.y1);
      y1 = Math.max(y1, e.y0, e.y1);
    }
    this.box = { x: x0, y: y0, width: Math.max(x1 - x0, 1e-9), height: Math.max(y1 - y0, 1e-9) };
    const cells: number[][] = Array.from({ length: CELLS_A_SIDE * CELLS_A_SIDE }, () => []);
    this.entries.forEach((e, index) => {
      const [c0, r0] = this.cellOf(Math.min(e.x0, e.x1), Math.min(e.y0, e.y1));
      const [c1, r1] = this.cellOf(Math.max(e.x0, e.x1), Math.max(e.y0, e.y1));
      for (let row = r0; row <= r1; row++)
        for (let column = c0; column <= c1; column++) cells[row * CELLS_A_SIDE + column]!.push(index);
    });
    this.cells = cells;
    return cells;
  }
}

const keyOf = (kind: SelectionKind, id: number) => `${kind} ${id}`;

function hitOf(e: Entry): Hit {
  const item: HitItem =
    e.other === undefined ? { kind: e.kind, id: e.id } : { kind: e.kind, id: e.id, other: e.other };
  if (e.segment) return { item, outline: null };
  return { item, outline: e.polygon ?? [e.x0, e.y0, e.x1, e.y0, e.x1, e.y1, e.x0, e.y1] };
}

function segmentDistance(x: number, y: number, e: Entry): number {
  const [dx, dy] = [e.x1 - e.x0, e.y1 - e.y0];
  const square = dx * dx + dy * dy;
  const along = square === 0 ? 0 : Math.max(0, Math.min(1, ((x - e.x0) * dx + (y - e.y0) * dy) / square));
  return Math.hypot(x - e.x0 - along * dx, y - e.y0 - along * dy);
}

function insidePolygon(x: number, y: number, xy: readonly number[]): boolean {
  let inside = false;
  for (let i = 0, j = xy.length - 2; i < xy.length; j = i, i += 2) {
    const [xi, yi, xj, yj] = [xy[i]!, xy[i + 1]!, xy[j]!, xy[j + 1]!];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}
