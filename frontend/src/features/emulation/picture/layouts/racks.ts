/**
 * The layout of the racks' picture [ours]: racks side by side, devices at their units and slots,
 * and every cable next to its rack; longer cables bend out further. A function of the plan and the
 * size only.
 */
import type { PlanModel } from "@/scene/model";
import type { Network, Node } from "../../session/network";
import type { Layout } from "./layout";

/**
 * With more racks than this, cables are too close together to distinguish; the floor plan with its
 * trunks is shown instead.
 */
export const MOST_RACKS = 8;

const PADDING = { side: 8, top: 30, bottom: 12 };
const UNIT_PX = { least: 4, most: 30 };
const RACK_PX = { least: 40, most: 260 };
/** Height of units that stand empty, in rows. */
const GAP_ROWS = 1.5;
/** The share of a rack's width for its devices; the rest is for cables. */
const RACK_SHARE = 0.4;
/** The share of the space next to a rack that its longest cable takes. */
const BEND_SHARE = 0.92;
/** The share that its shortest cable takes. */
const LEAST_BEND = 0.12;
/** Share of a device's height over which its cables leave it. */
const PORTS_SHARE = 0.7;

/** The racks that contain emulated devices, in their order. */
export function racksOf(network: Network, model: PlanModel): number[] {
  const { servers, switches } = network.frame;
  const racks = new Set([...servers.id, ...switches.id].map((device) => model.devices.rack[device] ?? -1));
  racks.delete(-1);
  return [...racks].sort((a, b) => a - b);
}

export function rackLayoutOf(network: Network, model: PlanModel, width: number, height: number): Layout {
  const { servers, switches } = network.frame;
  const { rack, unit, heightUnits, slot, slots } = model.devices;
  const devices = [...servers.id, ...switches.id];
  const racks = racksOf(network, model);
  const place = new Map(racks.map((rack, i) => [rack, i]));
  const { rows, rowOf } = rowsOf(devices.map((device) => [unit[device]!, heightUnits[device]!]));
  const space = (width - 2 * PADDING.side) / racks.length;
  const rackPx = Math.max(RACK_PX.least, Math.min(RACK_PX.most, space * RACK_SHARE));
  const free = height - PADDING.top - PADDING.bottom;
  const unitPx = Math.max(UNIT_PX.least, Math.min(UNIT_PX.most, free / rows));
  const tall = unitPx * rows;
  const top = PADDING.top + Math.max(0, (free - tall) / 2);
  const leftOf = (device: number) => PADDING.side + (place.get(rack[device]!)! + 0.5) * space - rackPx / 2;

  const boxes = new Float32Array(devices.length * 4);
  devices.forEach((device, node) => {
    const across = Math.max(1, slots[device]!);
    const wide = rackPx / across;
    const gap = unitPx > 10 ? 1 : 0.5;
    boxes.set(
      [
        leftOf(device) + slot[device]! * wide + gap,
        top + rowOf.get(unit[device]! + heightUnits[device]! - 1)! * unitPx + gap,
        wide - 2 * gap,
        heightUnits[device]! * unitPx - 2 * gap,
      ],
      node * 4,
    );
  });
  return {
    width,
    height,
    boxes,
    curves: curvesOf(network, model, devices, boxes, (space - rackPx) / 2),
    tiers: [],
    frames: racks.map((rack, i) => ({
      label: model.racks.names[rack] ?? "",
      x: PADDING.side + (i + 0.5) * space - rackPx / 2 - 3,
      y: top - 3,
      width: rackPx + 6,
      height: tall + 6,
    })),
    stubs: new Set(),
    lines: "sideways",
  };
}

/**
 * The rows of the picture from the top, by unit; a range of units without emulated devices becomes
 * one small gap.
 */
function rowsOf(spans: readonly (readonly [unit: number, height: number])[]): {
  rows: number;
  rowOf: ReadonlyMap<number, number>;
} {
  const used = new Set(
    spans.flatMap(([unit, height]) => Array.from({ length: Math.ceil(height) }, (_, i) => unit + i)),
  );
  const rowOf = new Map<number, number>();
  let [rows, above] = [0, Number.NaN];
  for (const unit of [...used].sort((a, b) => b - a)) {
    if (above - unit > 1) rows += GAP_ROWS;
    rowOf.set(unit, rows);
    rows += 1;
    above = unit;
  }
  return { rows, rowOf };
}

/** Left or right: on the side of the server in its rack, or of the other rack. */
function curvesOf(
  network: Network,
  model: PlanModel,
  devices: readonly number[],
  boxes: Float32Array,
  channelPx: number,
): Float32Array {
  const rackOf = (node: Node) => model.devices.rack[devices[node]!]!;
  const right = new Uint8Array(network.links * 2);
  for (let link = 0; link < network.links; link++) {
    const [a, b] = [network.a[link]!, network.b[link]!];
    if (rackOf(a) !== rackOf(b)) {
      right[link * 2] = rackOf(b) > rackOf(a) ? 1 : 0;
      right[link * 2 + 1] = 1 - right[link * 2]!;
      continue;
    }
    const inner = model.devices.slots[devices[a]!]! >= model.devices.slots[devices[b]!]! ? a : b;
    const { slot, slots } = model.devices;
    const side =
      slots[devices[inner]!]! > 1 ? slot[devices[inner]!]! * 2 >= slots[devices[inner]!]! : link % 2 === 1;
    right.fill(side ? 1 : 0, link * 2, link * 2 + 2);
  }
  const middle = (node: Node) => boxes[node * 4 + 1]! + boxes[node * 4 + 3]! / 2;
  const y = portsOf(network, right, boxes, middle);
  const rank = ranksOf(network, (link) => {
    const a = network.a[link]!;
    const lane = rackOf(a) === rackOf(network.b[link]!) ? rackOf(a) * 2 + right[link * 2]! : -1;
    return [lane, Math.abs(y[link * 2 + 1]! - y[link * 2]!)];
  });
  const curves = new Float32Array(network.links * 8);
  for (let link = 0; link < network.links; link++) {
    const [a, b] = [network.a[link]!, network.b[link]!];
    const x = (node: Node, end: number) =>
      boxes[node * 4]! + (right[link * 2 + end] ? boxes[node * 4 + 2]! : 0);
    const [xa, xb, ya, yb] = [x(a, 0), x(b, 1), y[link * 2]!, y[link * 2 + 1]!];
    const out = (end: number) => (right[link * 2 + end] ? 1 : -1);
    const same = rackOf(a) === rackOf(b);
    // A bent cable is as far out in its middle as three quarters of its handles.
    const bend = same
      ? (4 / 3) * channelPx * BEND_SHARE * (LEAST_BEND + (1 - LEAST_BEND) * rank[link]!)
      : Math.abs(xb - xa) * 0.5;
    const far = same ? (out(0) > 0 ? Math.max(xa, xb) : Math.min(xa, xb)) + out(0) * bend : Number.NaN;
    curves.set(
      [xa, ya, same ? far : xa + out(0) * bend, ya, same ? far : xb + out(1) * bend, yb, xb, yb],
      link * 8,
    );
  }
  return curves;
}

/**
 * For each link, the share of shorter links in its lane, so that cables are evenly spaced for any
 * lengths.
 */
function ranksOf(network: Network, of: (link: number) => [lane: number, length: number]): Float32Array {
  const lanes = new Map<number, { link: number; length: number }[]>();
  for (let link = 0; link < network.links; link++) {
    const [lane, length] = of(link);
    lanes.set(lane, [...(lanes.get(lane) ?? []), { link, length }]);
  }
  const ranks = new Float32Array(network.links);
  for (const own of lanes.values()) {
    own.sort((item, other) => item.length - other.length || item.link - other.link);
    own.forEach(({ link }, place) => {
      ranks[link] = own.length > 1 ? place / (own.length - 1) : 0.5;
    });
  }
  return ranks;
}

/** The y of each link at end a and end b: one above the other, in the order of their other ends. */
function portsOf(
  network: Network,
  right: Uint8Array,
  boxes: Float32Array,
  middle: (node: Node) => number,
): Float32Array {
  const ports = new Float32Array(network.links * 2);
  network.linksOf.forEach((links, node) => {
    const end = (link: number) => (network.a[link] === node ? 0 : 1);
    const far = (link: number) => (network.a[link] === node ? network.b[link]! : network.a[link]!);
    for (const side of [0, 1]) {
      const own = links
        .filter((link) => right[link * 2 + end(link)] === side)
        .sort((link, other) => middle(far(link)) - middle(far(other)) || link - other);
      own.forEach((link, place) => {
        const shift = own.length > 1 ? place / (own.length - 1) - 0.5 : 0;
        ports[link * 2 + end(link)] = middle(node) + shift * boxes[node * 4 + 3]! * PORTS_SHARE;
      });
    }
  });
  return ports;
}
