/**
 * Where the live picture puts everything [ours]: servers in one row, the switches of a BCube's level 0 below them, all
 * other levels above, so that no link crosses a row it has no end in. A function of the network and the size only.
 */
import type { Network, Node } from "./network";

export interface Layout {
  width: number;
  height: number;
  /** Of each node, in CSS pixels: left, top, width, height. */
  boxes: Float32Array;
  /** Of each link: start, two handles, end, as x and y. */
  curves: Float32Array;
  tiers: { label: string; y: number }[];
  /** Racks around their devices. */
  frames?: readonly { label: string; x: number; y: number; width: number; height: number }[];
  /** Links leave their ends to the sides, not up and down. */
  sideways?: boolean;
}

const PADDING = { left: 56, right: 16, top: 14, bottom: 14 };
const SERVER_PX = { width: 60, height: 40 };
const SWITCH_PX = { width: 64, height: 24 };
/** Share of a server's slot that is left free between the servers of two switches. */
const GROUP_GAP = 0.5;

export function layoutOf(network: Network, width: number, height: number): Layout {
  const below = network.frame.family === "bcube" ? [0] : [];
  const levels = [...new Set(network.level)].filter((level) => level >= 0).sort((a, b) => b - a);
  const above = levels.filter((level) => !below.includes(level));
  const rows: number[] = [...above, -1, ...levels.filter((level) => below.includes(level))];
  const room = height - PADDING.top - PADDING.bottom - SERVER_PX.height;
  const yOf = (row: number) =>
    PADDING.top + SERVER_PX.height / 2 + (rows.length > 1 ? (room * row) / (rows.length - 1) : room / 2);

  const nodes = network.servers + network.switches;
  const [x, y] = [new Float32Array(nodes), new Float32Array(nodes)];
  const [slot, places] = serverPlaces(network);
  const usable = width - PADDING.left - PADDING.right;
  for (let server = 0; server < network.servers; server++)
    x[server] = PADDING.left + places[server]! * usable;
  rows.forEach((level, row) => {
    const members: Node[] = [];
    for (let node = 0; node < nodes; node++) if (network.level[node] === level) members.push(node);
    members.forEach((node, place) => {
      y[node] = yOf(row);
      if (level >= 0)
        x[node] = below.includes(level)
          ? middleOf(network, node, x)
          : PADDING.left + ((place + 0.5) / members.length) * usable;
    });
  });
  const boxes = boxesOf(network, x, y, slot * usable);
  return {
    width,
    height,
    boxes,
    curves: curvesOf(network, x, y, boxes),
    tiers: rows.map((level, row) => ({ label: level < 0 ? "Servers" : `Level ${level}`, y: yOf(row) })),
  };
}

/** The width of a server's slot and the middle of each, as shares of the row; servers of one low switch stand together. */
function serverPlaces(network: Network): [number, Float32Array] {
  const groupOf = Int32Array.from({ length: network.servers }, (_, server) => {
    const low = network.linksOf[server]!.filter((link) => network.frame.links.level[link] === 0);
    return low.length > 0 ? Math.max(network.a[low[0]!]!, network.b[low[0]!]!) : 0;
  });
  const places = new Float32Array(network.servers);
  let at = 0;
  for (let server = 0; server < network.servers; server++) {
    if (server > 0 && groupOf[server] !== groupOf[server - 1]) at += GROUP_GAP;
    places[server] = at + 0.5;
    at += 1;
  }
  return [1 / Math.max(1, at), places.map((place) => place / Math.max(1, at))];
}

function middleOf(network: Network, node: Node, x: Float32Array): number {
  const ends = network.linksOf[node]!.map((link) =>
    network.a[link] === node ? network.b[link]! : network.a[link]!,
  );
  return ends.reduce((sum, end) => sum + x[end]!, 0) / Math.max(1, ends.length);
}

function boxesOf(network: Network, x: Float32Array, y: Float32Array, slotPx: number): Float32Array {
  const boxes = new Float32Array(x.length * 4);
  const perRow = new Map<number, number>();
  for (const level of network.level) perRow.set(level, (perRow.get(level) ?? 0) + 1);
  const rowPx = slotPx * network.servers;
  for (let node = 0; node < x.length; node++) {
    const level = network.level[node]!;
    const size = level < 0 ? SERVER_PX : SWITCH_PX;
    const slot = level < 0 ? slotPx : rowPx / perRow.get(level)!;
    const width = Math.max(3, Math.min(size.width, slot * 0.84));
    boxes.set([x[node]! - width / 2, y[node]! - size.height / 2, width, size.height], node * 4);
  }
  return boxes;
}

/** Share of a box's width over which its links leave it. */
const PORTS_SHARE = 0.72;

/** Where each link leaves its ends, as x of end a and end b: side by side, in the order of where they go. */
function portsOf(network: Network, x: Float32Array, y: Float32Array, boxes: Float32Array): Float32Array {
  const ports = new Float32Array(network.links * 2);
  network.linksOf.forEach((links, node) => {
    const far = (link: number) => (network.a[link] === node ? network.b[link]! : network.a[link]!);
    for (const up of [true, false]) {
      const side = links
        .filter((link) => y[far(link)]! < y[node]! === up)
        .sort((one, other) => x[far(one)]! - x[far(other)]! || one - other);
      const room = boxes[node * 4 + 2]! * PORTS_SHARE;
      side.forEach((link, place) => {
        const shift = side.length > 1 ? (place / (side.length - 1) - 0.5) * room : 0;
        ports[link * 2 + (network.a[link] === node ? 0 : 1)] = x[node]! + shift;
      });
    }
  });
  return ports;
}

/** A link leaves both its ends upright. */
function curvesOf(network: Network, x: Float32Array, y: Float32Array, boxes: Float32Array): Float32Array {
  const curves = new Float32Array(network.links * 8);
  const ports = portsOf(network, x, y, boxes);
  for (let link = 0; link < network.links; link++) {
    const [a, b] = [network.a[link]!, network.b[link]!];
    const half = (node: Node) => (network.level[node]! < 0 ? SERVER_PX : SWITCH_PX).height / 2;
    const down = y[b]! > y[a]! ? 1 : -1;
    const [ya, yb] = [y[a]! + down * half(a), y[b]! - down * half(b)];
    const bend = (yb - ya) * 0.45;
    const [xa, xb] = [ports[link * 2]!, ports[link * 2 + 1]!];
    curves.set([xa, ya, xa, ya + bend, xb, yb - bend, xb, yb], link * 8);
  }
  return curves;
}

/** The point of a link's curve at a share of its way, with the direction there. */
export function pointOn(
  curves: Float32Array,
  link: number,
  t: number,
): { x: number; y: number; turn: number } {
  const c = curves.subarray(link * 8, link * 8 + 8);
  const s = 1 - t;
  const at = (i: number) =>
    s * s * s * c[i]! + 3 * s * s * t * c[i + 2]! + 3 * s * t * t * c[i + 4]! + t * t * t * c[i + 6]!;
  const slope = (i: number) =>
    3 * s * s * (c[i + 2]! - c[i]!) +
    6 * s * t * (c[i + 4]! - c[i + 2]!) +
    3 * t * t * (c[i + 6]! - c[i + 4]!);
  return { x: at(0), y: at(1), turn: Math.atan2(slope(1), slope(0)) };
}

export const boxOf = ({ boxes }: Layout, node: Node) => ({
  x: boxes[node * 4]!,
  y: boxes[node * 4 + 1]!,
  width: boxes[node * 4 + 2]!,
  height: boxes[node * 4 + 3]!,
});

const REACH_PX = 6;
const SAMPLES = 24;

/** What lies at a point: a node, else the nearest link within reach. */
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
  let [nearest, found] = [reachPx, -1];
  for (let link = 0; link < network.links; link++) {
    const c = link * 8;
    const [top, bottom] = [layout.curves[c + 1]!, layout.curves[c + 7]!];
    if (y < Math.min(top, bottom) - reachPx || y > Math.max(top, bottom) + reachPx) continue;
    for (let i = 0; i <= SAMPLES; i++) {
      const at = pointOn(layout.curves, link, i / SAMPLES);
      const distance = Math.hypot(at.x - x, at.y - y);
      if (distance < nearest) [nearest, found] = [distance, link];
    }
  }
  return found < 0 ? null : { link: found };
}
