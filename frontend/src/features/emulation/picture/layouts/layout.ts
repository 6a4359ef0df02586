/** The data of a layout, and the search for the item at a point. */
import type { Network, Node } from "../../session/network";

/** A region around devices. */
export interface Region {
  label: string;
  x: number;
  y: number;
  width: number;
  height: number;
  /** Drawn as an ellipse, not as a rack. */
  round?: boolean;
}

export interface Layout {
  width: number;
  height: number;
  /** For each node, in CSS pixels: left, top, width, height. */
  boxes: Float32Array;
  /** For each link: start, two handles, end, as x and y. */
  curves: Float32Array;
  /**
   * Links drawn as two short lines, from the start to the first handle and from the second handle
   * to the end.
   */
  stubs: ReadonlySet<number>;
  /** How links leave their ends: up and down, to the sides, or in any direction. */
  lines: "upright" | "sideways" | "free";
  /** Names of rows, at the left edge. */
  tiers: readonly { label: string; y: number }[];
  frames: readonly Region[];
}

export const SERVER_PX = { width: 60, height: 40 };
export const SWITCH_PX = { width: 64, height: 24 };

/**
 * The address of each node, as the engine's frames carry it. Runs recorded before frames carried
 * digits have their servers and switches numbered instead.
 */
export function digitsOf({ frame: { servers, switches } }: Network): readonly (readonly number[])[] {
  const numbered = (ids: readonly number[]) => ids.map((_, row) => [row]);
  return [
    ...(servers.digits ?? numbered(servers.id)),
    ...(switches.digits ?? switches.id.map((_, row) => [switches.level?.[row] ?? 0, row])),
  ];
}

export function compareDigits(first: readonly number[], second: readonly number[]): number {
  for (let i = 0; i < Math.min(first.length, second.length); i++)
    if (first[i] !== second[i]) return first[i]! - second[i]!;
  return first.length - second.length;
}

export const boxOf = ({ boxes }: Layout, node: Node) => ({
  x: boxes[node * 4]!,
  y: boxes[node * 4 + 1]!,
  width: boxes[node * 4 + 2]!,
  height: boxes[node * 4 + 3]!,
});

/**
 * The point of a link's line at a share of its length, with the direction from end a to end b
 * there.
 */
export function pointOn(
  { curves, stubs }: Layout,
  link: number,
  t: number,
): { x: number; y: number; turn: number } {
  const c = curves.subarray(link * 8, link * 8 + 8);
  if (stubs.has(link)) {
    const [from, share] = t <= 0.5 ? [0, t * 2] : [4, t * 2 - 1];
    const [dx, dy] = [c[from + 2]! - c[from]!, c[from + 3]! - c[from + 1]!];
    return { x: c[from]! + dx * share, y: c[from + 1]! + dy * share, turn: Math.atan2(dy, dx) };
  }
  const s = 1 - t;
  const at = (i: number) =>
    s * s * s * c[i]! + 3 * s * s * t * c[i + 2]! + 3 * s * t * t * c[i + 4]! + t * t * t * c[i + 6]!;
  const slope = (i: number) =>
    3 * s * s * (c[i + 2]! - c[i]!) +
    6 * s * t * (c[i + 4]! - c[i + 2]!) +
    3 * t * t * (c[i + 6]! - c[i + 4]!);
  return { x: at(0), y: at(1), turn: Math.atan2(slope(1), slope(0)) };
}

const REACH_PX = 6;
const SAMPLES = 24;

/** The item at a point: a node, else the nearest link within reach. */
export function hitAt(
  network: Network,
  layout: Layout,
  x: number,
  y: number,
  reachPx = REACH_PX,
): { node: Node } | { link: number } | null {
  for (let node = 0; node < network.servers + network.switches; node++) {
    const box = boxOf(layout, node);
    if (x >= box.x - 1 && x <= box.x + box.width + 1 && y >= box.y - 1 && y <= box.y + box.height + 1)
      return { node };
  }
  let [nearest, match] = [reachPx, -1];
  for (let link = 0; link < network.links; link++) {
    if (!isNear(layout.curves, link, x, y, reachPx)) continue;
    for (let i = 0; i <= SAMPLES; i++) {
      const at = pointOn(layout, link, i / SAMPLES);
      const distance = Math.hypot(at.x - x, at.y - y);
      if (distance < nearest) [nearest, match] = [distance, link];
    }
  }
  return match < 0 ? null : { link: match };
}

/** Whether a point is near the rectangle of a link's control points, which holds its whole line. */
function isNear(curves: Float32Array, link: number, x: number, y: number, reachPx: number): boolean {
  const c = curves.subarray(link * 8, link * 8 + 8);
  return (
    x >= Math.min(c[0]!, c[2]!, c[4]!, c[6]!) - reachPx &&
    x <= Math.max(c[0]!, c[2]!, c[4]!, c[6]!) + reachPx &&
    y >= Math.min(c[1]!, c[3]!, c[5]!, c[7]!) - reachPx &&
    y <= Math.max(c[1]!, c[3]!, c[5]!, c[7]!) + reachPx
  );
}
