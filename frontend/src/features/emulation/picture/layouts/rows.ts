/**
 * Servers in one row, those that share all but their last digit together [ours]. Switches of level
 * 0 are below them and those of all other levels above, if then no link crosses a row without an
 * end in it; otherwise all switches are above, by level.
 */
import type { Network, Node } from "../../session/network";
import { compareDigits, digitsOf, type Layout, SERVER_PX, SWITCH_PX } from "./layout";

const PADDING = { left: 56, right: 16, top: 14, bottom: 14 };
/** Share of a server's slot that is left free between the servers of two switches. */
const GROUP_GAP = 0.5;

/**
 * How high a cable between two servers of the row arches, as a share of their distance, and at
 * most.
 */
const ARCH = { share: 0.35, mostPx: 60 };

/** Level 0 below the servers, if there are other levels. */
export const rowsLayoutOf = (network: Network, width: number, height: number): Layout =>
  inRows(network, width, height, network.level.some((level) => level > 0) ? 0 : -1);

/** All switches above the servers. */
export const tiersLayoutOf = (network: Network, width: number, height: number): Layout =>
  inRows(network, width, height, -1);

/** `below` is the level that is below the servers; -1 for none. */
function inRows(network: Network, width: number, height: number, below: number): Layout {
  const levels = [...new Set(network.level)].filter((level) => level >= 0).sort((a, b) => b - a);
  const rows: number[] = [...levels.filter((level) => level !== below), -1];
  if (below >= 0) rows.push(below);
  const space = height - PADDING.top - PADDING.bottom - SERVER_PX.height;
  const yOf = (row: number) =>
    PADDING.top + SERVER_PX.height / 2 + (rows.length > 1 ? (space * row) / (rows.length - 1) : space / 2);

  const digits = digitsOf(network);
  const nodes = network.servers + network.switches;
  const [x, y] = [new Float32Array(nodes), new Float32Array(nodes)];
  const [slot, places] = serverPlaces(network, digits);
  const usable = width - PADDING.left - PADDING.right;
  for (let server = 0; server < network.servers; server++)
    x[server] = PADDING.left + places[server]! * usable;
  rows.forEach((level, row) => {
    const members: Node[] = [];
    for (let node = 0; node < nodes; node++) if (network.level[node] === level) members.push(node);
    if (level >= 0)
      members.sort((member, other) => compareDigits(digits[member]!, digits[other]!) || member - other);
    members.forEach((node, place) => {
      y[node] = yOf(row);
      if (level >= 0)
        x[node] =
          level === below
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
    stubs: new Set(),
    lines: "upright",
    tiers: rows.map((level, row) => ({ label: level < 0 ? "Servers" : `Level ${level}`, y: yOf(row) })),
    frames: [],
  };
}

/**
 * The width of a server's slot and the middle of each, as shares of the row, in the order of their
 * digits.
 */
function serverPlaces(
  network: Network,
  digits: readonly (readonly number[])[],
): [slot: number, middles: Float32Array] {
  const order = Array.from({ length: network.servers }, (_, server) => server).sort(
    (item, other) => compareDigits(digits[item]!, digits[other]!) || item - other,
  );
  const groupOf = (server: number) => digits[server]!.slice(0, -1).join();
  const places = new Float32Array(network.servers);
  let at = 0;
  order.forEach((server, place) => {
    if (place > 0 && groupOf(server) !== groupOf(order[place - 1]!)) at += GROUP_GAP;
    places[server] = at + 0.5;
    at += 1;
  });
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

/** The x of each link at end a and end b: side by side, in the order of their other ends. */
function portsOf(network: Network, x: Float32Array, y: Float32Array, boxes: Float32Array): Float32Array {
  const ports = new Float32Array(network.links * 2);
  network.linksOf.forEach((links, node) => {
    const far = (link: number) => (network.a[link] === node ? network.b[link]! : network.a[link]!);
    for (const up of [true, false]) {
      const side = links
        .filter((link) => y[far(link)]! <= y[node]! === up)
        .sort((link, other) => x[far(link)]! - x[far(other)]! || link - other);
      const space = boxes[node * 4 + 2]! * PORTS_SHARE;
      side.forEach((link, place) => {
        const shift = side.length > 1 ? (place / (side.length - 1) - 0.5) * space : 0;
        ports[link * 2 + (network.a[link] === node ? 0 : 1)] = x[node]! + shift;
      });
    }
  });
  return ports;
}

/** A link is vertical at both its ends; a link between two nodes of a row is an arch above it. */
function curvesOf(network: Network, x: Float32Array, y: Float32Array, boxes: Float32Array): Float32Array {
  const curves = new Float32Array(network.links * 8);
  const ports = portsOf(network, x, y, boxes);
  const half = (node: Node) => (network.level[node]! < 0 ? SERVER_PX : SWITCH_PX).height / 2;
  for (let link = 0; link < network.links; link++) {
    const [a, b] = [network.a[link]!, network.b[link]!];
    const [xa, xb] = [ports[link * 2]!, ports[link * 2 + 1]!];
    if (y[a] === y[b]) {
      const top = y[a]! - half(a);
      const arch = top - Math.min(ARCH.mostPx, Math.abs(xb - xa) * ARCH.share, top);
      curves.set([xa, top, xa, arch, xb, arch, xb, top], link * 8);
      continue;
    }
    const down = y[b]! > y[a]! ? 1 : -1;
    const [ya, yb] = [y[a]! + down * half(a), y[b]! - down * half(b)];
    const bend = (yb - ya) * 0.45;
    curves.set([xa, ya, xa, ya + bend, xb, yb - bend, xb, yb], link * 8);
  }
  return curves;
}
