/**
 * The way of a bundle over the trays of the floor, for drawing and for "which trays does this selection use". The
 * engine sends lengths and loads but no polyline a bundle (it would be most of the payload), so the way is found
 * again here: the shortest over the trays, ties to the lower index [ours].
 */
import { memoised, type PlanModel } from "./model";

export interface TrayRoute {
  /** x, y pairs from the tap of the first rack to the tap of the second; corners only. */
  points: readonly number[];
  /** Trays used, in order. */
  trays: readonly number[];
}

interface Network {
  x: number[];
  y: number[];
  /** Per node: neighbour, length and tray. */
  edges: { to: number; length: number; tray: number }[][];
  /** Node where each rack's cables join; -1 when there are no trays. */
  tap: Int32Array;
  paths: Map<number, ShortestPaths>;
}

interface ShortestPaths {
  from: Int32Array;
  tray: Int32Array;
}

/** An end of a tray this close to another tray joins it. */
const JOIN_METRES = 0.06;

export function trayRoute(model: PlanModel, rackA: number, rackB: number): TrayRoute | null {
  const network = memoised(model, "tray-network", () => buildNetwork(model));
  const start = network.tap[rackA] ?? -1;
  const goal = network.tap[rackB] ?? -1;
  if (start < 0 || goal < 0) return null;
  let paths = network.paths.get(start);
  if (!paths) {
    paths = shortestPaths(network, start);
    network.paths.set(start, paths);
  }
  if (start !== goal && paths.from[goal] === -1) return null;
  const nodes: number[] = [goal];
  const trays: number[] = [];
  for (let node = goal; node !== start; node = paths.from[node]!) {
    const tray = paths.tray[node]!;
    if (trays[trays.length - 1] !== tray) trays.push(tray);
    nodes.push(paths.from[node]!);
  }
  nodes.reverse();
  trays.reverse();
  return { points: corners(nodes, network), trays };
}

/** Where a rack's cables join the trays; null when it has none. */
export function trayTap(model: PlanModel, rack: number): [x: number, y: number] | null {
  const network = memoised(model, "tray-network", () => buildNetwork(model));
  const node = network.tap[rack] ?? -1;
  return node < 0 ? null : [network.x[node]!, network.y[node]!];
}

function corners(nodes: readonly number[], { x, y }: Network): number[] {
  const xy: number[] = [];
  nodes.forEach((node, i) => {
    const [before, after] = [nodes[i - 1], nodes[i + 1]];
    if (before !== undefined && after !== undefined) {
      const cross =
        (x[node]! - x[before]!) * (y[after]! - y[node]!) - (y[node]! - y[before]!) * (x[after]! - x[node]!);
      if (Math.abs(cross) < 1e-9) return;
    }
    xy.push(x[node]!, y[node]!);
  });
  return xy;
}

function buildNetwork(model: PlanModel): Network {
  const { trays } = model.scene;
  const count = model.trayCount;
  const network: Network = {
    x: [],
    y: [],
    edges: [],
    tap: new Int32Array(model.racks.count).fill(-1),
    paths: new Map(),
  };
  if (count === 0) return network;
  const nodeByPlace = new Map<string, number>();
  const nodeAt = (x: number, y: number): number => {
    const key = `${Math.round(x * 1000)},${Math.round(y * 1000)}`;
    let node = nodeByPlace.get(key);
    if (node === undefined) {
      node = network.x.push(x) - 1;
      network.y.push(y);
      network.edges.push([]);
      nodeByPlace.set(key, node);
    }
    return node;
  };
  const stops: { along: number; node: number }[][] = [];
  const segment = (t: number) => ({
    x0: trays.x0_metres[t]!,
    y0: trays.y0_metres[t]!,
    x1: trays.x1_metres[t]!,
    y1: trays.y1_metres[t]!,
  });
  for (let t = 0; t < count; t++) {
    const { x0, y0, x1, y1 } = segment(t);
    stops.push([
      { along: 0, node: nodeAt(x0, y0) },
      { along: 1, node: nodeAt(x1, y1) },
    ]);
  }
  // An end of one tray that touches another in its middle splits it.
  for (let t = 0; t < count; t++) {
    const s = segment(t);
    for (const [x, y] of [
      [s.x0, s.y0],
      [s.x1, s.y1],
    ] as const)
      for (let other = 0; other < count; other++) {
        if (other === t) continue;
        const near = nearestOn(segment(other), x, y);
        if (near.distance > JOIN_METRES) continue;
        stops[other]!.push({ along: near.along, node: nodeAt(x, y) });
      }
  }
  const columns = trays.kind.some((kind) => kind === "column");
  for (let rack = 0; rack < model.racks.count; rack++) {
    let best = { tray: -1, distance: Infinity, along: 0, x: 0, y: 0 };
    for (let t = 0; t < count; t++) {
      if (columns && trays.kind[t] === "crossing") continue;
      const near = nearestOn(segment(t), model.racks.x[rack]!, model.racks.y[rack]!);
      if (near.distance < best.distance - 1e-9) best = { tray: t, ...near };
    }
    if (best.tray < 0) continue;
    const node = nodeAt(best.x, best.y);
    stops[best.tray]!.push({ along: best.along, node });
    network.tap[rack] = node;
  }
  stops.forEach((list, tray) => {
    list.sort((a, b) => a.along - b.along || a.node - b.node);
    for (let i = 1; i < list.length; i++) {
      const [a, b] = [list[i - 1]!.node, list[i]!.node];
      if (a === b) continue;
      const length = Math.hypot(network.x[a]! - network.x[b]!, network.y[a]! - network.y[b]!);
      network.edges[a]!.push({ to: b, length, tray });
      network.edges[b]!.push({ to: a, length, tray });
    }
  });
  return network;
}

function nearestOn(
  s: { x0: number; y0: number; x1: number; y1: number },
  x: number,
  y: number,
): { distance: number; along: number; x: number; y: number } {
  const [dx, dy] = [s.x1 - s.x0, s.y1 - s.y0];
  const square = dx * dx + dy * dy;
  const along = square === 0 ? 0 : Math.max(0, Math.min(1, ((x - s.x0) * dx + (y - s.y0) * dy) / square));
  const [px, py] = [s.x0 + along * dx, s.y0 + along * dy];
  return { distance: Math.hypot(x - px, y - py), along, x: px, y: py };
}

/** Dijkstra with a binary heap; equal distances keep the lower node. */
function shortestPaths(network: Network, start: number): ShortestPaths {
  const count = network.x.length;
  const distance = new Float64Array(count).fill(Infinity);
  const from = new Int32Array(count).fill(-1);
  const tray = new Int32Array(count).fill(-1);
  const heap: [number, number][] = [[0, start]];
  distance[start] = 0;
  const less = (a: [number, number], b: [number, number]) => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
  while (heap.length > 0) {
    const [reached, node] = heap[0]!;
    const last = heap.pop()!;
    if (heap.length > 0) sink(heap, last, less);
    if (reached > distance[node]!) continue;
    for (const edge of network.edges[node]!) {
      const next = reached + edge.length;
      if (next < distance[edge.to]! - 1e-9) {
        distance[edge.to] = next;
        from[edge.to] = node;
        tray[edge.to] = edge.tray;
        rise(heap, [next, edge.to], less);
      }
    }
  }
  return { from, tray };
}

type Less = (a: [number, number], b: [number, number]) => boolean;

function sink(heap: [number, number][], item: [number, number], less: Less): void {
  let at = 0;
  for (;;) {
    let child = at * 2 + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && less(heap[child + 1]!, heap[child]!)) child++;
    if (!less(heap[child]!, item)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = item;
}

function rise(heap: [number, number][], item: [number, number], less: Less): void {
  let at = heap.push(item) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!less(item, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = item;
}
