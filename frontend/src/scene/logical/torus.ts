/**
 * A 3D torus as its z layers, a 2D torus as one, in isometric view, pulled apart so that every
 * server is seen and can be clicked [ours].
 */
import type { PlanModel } from "../model";
import type { LogicalLayout } from "./layout";
import { Bounds, digitsOf, GroupCollector } from "./parts";

const NODE = 0.46;
/** A step in y goes this far right and this far up. */
const SHEAR = 0.5;
const RISE = 0.72;

export function torusLayout(model: PlanModel): LogicalLayout | null {
  const { devices } = model;
  const places: [number, number, number][] = [];
  const size: [number, number, number] = [1, 1, 1];
  for (const name of devices.names) {
    const match = /^\((.*)\)$/.exec(name);
    const digits = match ? digitsOf(match[1]!, true) : null;
    if (digits?.length !== 3 && digits?.length !== 2) return null;
    const place: [number, number, number] = [digits[0]!, digits[1]!, digits[2] ?? 0];
    places.push(place);
    for (let axis = 0; axis < 3; axis++) size[axis] = Math.max(size[axis]!, place[axis]! + 1);
  }
  if (places.length === 0) return null;
  const flat = model.topology?.family === "torus2d";
  const width = size[0] + size[1] * SHEAR + 2;
  const height = size[1] * RISE + 2.6;
  const columns = bestColumns(size[2], width / height);
  const x = new Float32Array(devices.count);
  const y = new Float32Array(devices.count);
  const groups = new GroupCollector(devices.count);
  const all = new Bounds();
  places.forEach(([px, py, pz], device) => {
    x[device] = (pz % columns) * width + px + py * SHEAR;
    y[device] = Math.floor(pz / columns) * height + (size[1] - 1 - py) * RISE;
    all.add(x[device]!, y[device]!, 0.6);
    groups.add(device, String(pz), flat ? "" : `z = ${pz}`, -1, x[device]!, y[device]!, 0.4);
  });
  return {
    x,
    y,
    nodeWidth: NODE,
    nodeHeight: NODE,
    switchHeight: NODE,
    groups: groups.groups(0.35),
    groupOf: groups.of,
    buses: [],
    link: "arc",
    latticeReach: 1.2,
    bounds: all.box(1.6),
  };
}

/** Columns of layers for a picture about 1.7 times as wide as high. */
function bestColumns(layers: number, aspect: number): number {
  let best = 1;
  let distance = Infinity;
  for (let columns = 1; columns <= layers; columns++) {
    const rows = Math.ceil(layers / columns);
    const off = Math.abs(Math.log((columns * aspect) / rows / 1.7));
    if (off < distance) {
      distance = off;
      best = columns;
    }
  }
  return best;
}
