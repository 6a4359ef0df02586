/**
 * Planes side by side [ours]: a server's last digit chooses its plane, the first two its column and
 * row there. Cables to the next plane are arcs below their row. Cables around the edge of the grid
 * are a stub at each end.
 */
import type { Network, Node } from "../../session/network";
import { boxesAround } from "./boxes";
import { digitsOf, type Layout, type Region } from "./layout";

const PADDING_PX = 8;
const LABEL_PX = 18;
/** Free room at both sides of a plane together, in steps from server to server. */
const MARGIN_STEPS = 0.9;
/** Length of a stub, in steps from its server's edge. */
const STUB_STEPS = 0.3;
/** The depth of an arc to another plane in the free space below its row. */
const HANG = 0.75;
/** The preferred ratio of a horizontal step to a vertical step. */
const ASPECT = 1.5;
/** Planes are stacked vertically only if that makes steps longer by this factor. */
const WORTH = 1.4;

interface Grid {
  /** Column, row and plane of each server, counted from 0. */
  places: readonly (readonly [column: number, row: number, plane: number])[];
  columns: number;
  rows: number;
  planes: number;
  /** Number of planes side by side. */
  across: number;
  step: readonly [x: number, y: number];
  originOf(plane: number): readonly [x: number, y: number];
  labels: readonly string[];
}

export function planesLayoutOf(network: Network, width: number, height: number): Layout {
  const grid = gridOf(digitsOf(network), width, height);
  const [x, y] = [new Float32Array(grid.places.length), new Float32Array(grid.places.length)];
  grid.places.forEach(([column, row, plane], node) => {
    const [left, top] = grid.originOf(plane);
    x[node] = left + (column + 0.5) * grid.step[0];
    y[node] = top + (row + 0.5) * grid.step[1];
  });
  const boxes = boxesAround(network, x, y, width, height);
  shrink(boxes, grid.step);
  const stubs = new Set<number>();
  const curves = new Float32Array(network.links * 8);
  for (let link = 0; link < network.links; link++) {
    const line = lineOf(grid, boxes, network.a[link]!, network.b[link]!);
    curves.set(line.curve, link * 8);
    if (line.stub) stubs.add(link);
  }
  return { width, height, boxes, curves, stubs, lines: "free", tiers: [], frames: regionsOf(grid) };
}

/** Leaves space for cables between servers. */
function shrink(boxes: Float32Array, step: Grid["step"]): void {
  for (let i = 0; i < boxes.length; i += 4)
    [0, 1].forEach((axis) => {
      const [from, size] = [boxes[i + axis]!, boxes[i + 2 + axis]!];
      const kept = Math.min(size, step[axis]! * (axis === 0 ? 0.76 : 0.5));
      boxes[i + axis] = from + (size - kept) / 2;
      boxes[i + 2 + axis] = kept;
    });
}

function gridOf(digits: readonly (readonly number[])[], width: number, height: number): Grid {
  // A slice has some values of a digit only.
  const values = [0, 1, 2].map((i) =>
    [...new Set(digits.map((address) => address[i] ?? 0))].sort((a, b) => a - b),
  );
  const [columns, rows, planes] = values.map((list) => Math.max(1, list.length)) as [number, number, number];
  const space = [width - 2 * PADDING_PX, height - 2 * PADDING_PX] as const;
  const stepsAt = (across: number) =>
    [
      space[0] / across / (columns + MARGIN_STEPS),
      (space[1] / Math.ceil(planes / across) - LABEL_PX) / (rows + MARGIN_STEPS),
    ] as const;
  const sizeAt = (across: number) => Math.min(stepsAt(across)[0] / ASPECT, stepsAt(across)[1]);
  let across = planes;
  for (let fewer = planes - 1; fewer > 0; fewer--)
    if (sizeAt(fewer) > sizeAt(across) * (across === planes ? WORTH : 1)) across = fewer;
  const step = stepsAt(across);
  const planePx = [space[0] / across, space[1] / Math.ceil(planes / across)] as const;
  return {
    places: digits.map((address) => {
      const [column, row, plane] = values.map((list, i) => list.indexOf(address[i] ?? 0));
      return [column!, row!, plane!] as const;
    }),
    columns,
    rows,
    planes,
    across,
    step,
    originOf: (plane) => [
      PADDING_PX + (plane % across) * planePx[0] + (MARGIN_STEPS / 2) * step[0],
      PADDING_PX + Math.floor(plane / across) * planePx[1] + LABEL_PX + (MARGIN_STEPS / 2) * step[1],
    ],
    labels: values[2]!.map((value) => `Plane ${value}`),
  };
}

/** A link's start, handles and end, and whether it is two stubs. */
function lineOf(grid: Grid, boxes: Float32Array, a: Node, b: Node): { curve: number[]; stub: boolean } {
  const [first, second] = [grid.places[a]!, grid.places[b]!];
  if (first[2] === second[2]) {
    const axis = first[0] !== second[0] ? 0 : 1;
    const by = second[axis] - first[axis];
    if (Math.abs(by) > 1) return stubs(grid, boxes, a, b, axis, -Math.sign(by));
    const [from, to] = [edge(boxes, a, axis, Math.sign(by)), edge(boxes, b, axis, -Math.sign(by))];
    const third = (share: number) => [0, 1].map((i) => from[i]! + (to[i]! - from[i]!) * share);
    return { curve: [...from, ...third(1 / 3), ...third(2 / 3), ...to], stub: false };
  }
  const by = second[2] - first[2];
  const beside = Math.floor(first[2] / grid.across) === Math.floor(second[2] / grid.across);
  if (Math.abs(by) > 1 || !beside)
    return stubs(grid, boxes, a, b, 2, Math.abs(by) > 1 ? -Math.sign(by) : Math.sign(by));
  const [from, to] = [corner(boxes, a, Math.sign(by)), corner(boxes, b, -Math.sign(by))];
  const deep = (grid.step[1] - boxes[a * 4 + 3]!) * HANG;
  return { curve: [...from, from[0], from[1] + deep, to[0], to[1] + deep, ...to], stub: false };
}

/** The middle of a box's side: to the left or right (axis 0), or up or down (axis 1). */
function edge(boxes: Float32Array, node: Node, axis: number, side: number): [number, number] {
  const middle = [0, 1].map((i) => boxes[node * 4 + i]! + boxes[node * 4 + 2 + i]! / 2) as [number, number];
  middle[axis] = middle[axis]! + (side * boxes[node * 4 + 2 + axis]!) / 2;
  return middle;
}

/** A point below a box, left or right of its middle, where cables to other planes start. */
function corner(boxes: Float32Array, node: Node, side: number): [number, number] {
  const [x, y] = edge(boxes, node, 1, 1);
  return [x + side * boxes[node * 4 + 2]! * 0.3, y];
}

/**
 * Stubs that leave end a towards one side and end b towards the other. Those to other planes point
 * down to the side.
 */
function stubs(
  grid: Grid,
  boxes: Float32Array,
  a: Node,
  b: Node,
  axis: number,
  side: number,
): { curve: number[]; stub: boolean } {
  const stub = (node: Node, towards: number) => {
    const start = axis < 2 ? edge(boxes, node, axis, towards) : corner(boxes, node, towards);
    const by = axis < 2 ? [0, 0] : [towards * 0.2 * grid.step[0], 0.2 * grid.step[1]];
    if (axis < 2) by[axis] = towards * STUB_STEPS * grid.step[axis]!;
    return [start, [start[0] + by[0]!, start[1] + by[1]!]] as const;
  };
  const [[from, first], [to, second]] = [stub(a, side), stub(b, -side)];
  return { curve: [...from, ...first, ...second, ...to], stub: true };
}

function regionsOf(grid: Grid): Region[] {
  return grid.labels.map((label, plane) => {
    const [x, y] = grid.originOf(plane);
    const margin = [0.42 * grid.step[0], 0.42 * grid.step[1]] as const;
    return {
      label,
      x: x - margin[0],
      y: y - margin[1],
      width: grid.columns * grid.step[0] + 2 * margin[0],
      height: grid.rows * grid.step[1] + 2 * margin[1],
    };
  });
}
