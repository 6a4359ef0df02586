/**
 * DCell as rings of rings [dcell §3.1]: a DCell_0 is its servers around its switch, a DCell_i its
 * DCell_{i-1}s on a circle, or on circles inside each other when there are many [ours].
 */
import type { PlanModel } from "../model";
import type { LogicalLayout } from "./layout";
import { Bounds, digitsOf, GroupCollector, ring } from "./parts";

const NODE = 0.8;

export function dcellLayout(model: PlanModel): LogicalLayout | null {
  const { devices } = model;
  const digits: number[][] = [];
  for (const name of devices.names) {
    const match = /^[[<](.*)[\]>]$/.exec(name);
    const address = match ? digitsOf(match[1]!, true) : null;
    if (!address) return null;
    digits.push(address);
  }
  let depth = 0;
  for (const d of digits) depth = Math.max(depth, d.length);
  if (depth === 0) return null;
  // sizes[i]: children at position i of the address, most significant first.
  const sizes = Array.from({ length: depth }, (_, i) =>
    digits.reduce((most, d) => Math.max(most, (d[i] ?? -1) + 1), 1),
  );
  const radius: number[] = new Array(depth + 1).fill(NODE * 0.62);
  const rings: [number, number][][] = [];
  for (let i = depth - 1; i >= 0; i--) {
    const child = radius[i + 1]!;
    const { places, outer } = ring(
      sizes[i]!,
      child * (i === depth - 1 ? 1 : i === 0 ? 1.22 : 1.08),
      i === depth - 1,
    );
    rings[i] = places;
    radius[i] = outer;
  }
  const x = new Float32Array(devices.count);
  const y = new Float32Array(devices.count);
  const groups = new GroupCollector(devices.count);
  const all = new Bounds();
  const groupDigits = Math.max(0, depth - (depth > 2 ? 2 : 1));
  digits.forEach((address, device) => {
    let [px, py] = [0, 0];
    let [middleX, middleY] = [0, 0];
    address.forEach((digit, i) => {
      const [dx, dy] = rings[i]![digit]!;
      px += dx;
      py += dy;
      if (i < groupDigits) [middleX, middleY] = [px, py];
    });
    x[device] = px;
    y[device] = py;
    all.add(px, py, NODE);
    const prefix = address.slice(0, groupDigits);
    groups.add(device, prefix.join(), `[${prefix.join()}]`, -1, middleX, middleY, radius[groupDigits]!, true);
  });
  return {
    x,
    y,
    nodeWidth: NODE,
    nodeHeight: NODE,
    switchHeight: NODE,
    groups: groups.groups(NODE * 0.1),
    groupOf: groups.of,
    buses: [],
    link: "arc",
    bounds: all.box(NODE * 2),
  };
}
