/** Small things the logical layouts share. */
import type { Box } from "../model";

/**
 * "0132" or "0.1.3.2" or "2,1,0" to digits; null when there is anything else in it. `joined`:
 * digits may have several figures, so that "10" without a separator is one digit.
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

/** Most children on one plain circle. */
const PLAIN_RING = 12;

/**
 * Centres of `count` circles of radius `child`, and the radius around all of them: on one circle,
 * or on circles inside each other when there are many. Around a `leaf` they leave the middle free.
 */
export function ring(
  count: number,
  child: number,
  leaf: boolean,
): { places: [number, number][]; outer: number } {
  if (count === 1 && !leaf) return { places: [[0, 0]], outer: child };
  if (leaf || count <= PLAIN_RING) {
    // A leaf keeps its centre free for its switch.
    const r = Math.max(leaf ? child * 2.1 : 0, child / Math.sin(Math.PI / Math.max(2, count)));
    const places = Array.from({ length: count }, (_, i): [number, number] => {
      const angle = (i / count) * 2 * Math.PI - Math.PI / 2;
      return [r * Math.cos(angle), r * Math.sin(angle)];
    });
    return { places, outer: r + child };
  }
  const places: [number, number][] = [[0, 0]];
  let shell = 0;
  while (places.length < count) {
    shell++;
    const onShell = Math.min(6 * shell, count - places.length);
    for (let i = 0; i < onShell; i++) {
      const angle = (i / onShell) * 2 * Math.PI - Math.PI / 2;
      places.push([shell * 2 * child * Math.cos(angle), shell * 2 * child * Math.sin(angle)]);
    }
  }
  return { places, outer: (shell * 2 + 1) * child };
}
