/** Small things the logical layouts share. */
import type { Box } from "../model";

/**
 * "0132" or "0.1.3.2" or "2,1,0" to digits; null when there is anything else in it. `joined`: digits may have
 * several figures, so that "10" without a separator is one digit.
 */
export function digitsOf(text: string, joined = false): number[] | null {
  if (text === "") return [];
  const parts = joined || /[.,]/.test(text) ? text.split(/[.,]/) : [...text];
  const digits = parts.map((part) => (/^\d+$/.test(part) ? Number(part) : -1));
  return digits.includes(-1) ? null : digits;
}

export class Bounds {
  private x0 = Infinity;
  private y0 = Infinity;
  private x1 = -Infinity;
  private y1 = -Infinity;

  add(x: number, y: number, halfWidth = 0, halfHeight = halfWidth): void {
    this.x0 = Math.min(this.x0, x - halfWidth);
    this.y0 = Math.min(this.y0, y - halfHeight);
    this.x1 = Math.max(this.x1, x + halfWidth);
    this.y1 = Math.max(this.y1, y + halfHeight);
  }

  box(margin = 0): Box {
    if (this.x0 > this.x1) return { x: 0, y: 0, width: 1, height: 1 };
    return {
      x: this.x0 - margin,
      y: this.y0 - margin,
      width: this.x1 - this.x0 + 2 * margin,
      height: this.y1 - this.y0 + 2 * margin,
    };
  }
}

/** Groups by key in order of first appearance of a device, each with the bounds of its devices. */
export class GroupCollector {
  readonly of: Int32Array;
  private readonly ids = new Map<string, number>();
  private readonly items: { label: string; level: number; bounds: Bounds; round: boolean }[] = [];

  constructor(devices: number) {
    this.of = new Int32Array(devices).fill(-1);
  }

  add(
    device: number,
    key: string,
    label: string,
    level: number,
    x: number,
    y: number,
    half: number,
    round = false,
  ): void {
    let id = this.ids.get(key);
    if (id === undefined) {
      id = this.items.push({ label, level, bounds: new Bounds(), round }) - 1;
      this.ids.set(key, id);
    }
    this.items[id]!.bounds.add(x, y, half);
    this.of[device] = id;
  }

  idOf(key: string): number {
    return this.ids.get(key) ?? -1;
  }

  groups(margin: number): { label: string; level: number; box: Box; round: boolean }[] {
    return this.items.map(({ label, level, bounds, round }) => ({
      label,
      level,
      round,
      box: bounds.box(margin),
    }));
  }
}
