/**
 * BCube drawn as it is built [ours]: digit i of an address is a step along x when i is even and
 * along y when i is odd, and every two levels form a block of blocks [bcube §3.1]. The address of a
 * level-l switch has every digit except digit l; the switch is drawn in an extra position after the
 * last value of that digit, at the end of the row or column of servers that it joins, so that every
 * link is a straight line along one axis.
 */
import type { PlanModel } from "../model";
import type { Bus, LogicalLayout } from "./layout";
import { Bounds, digitsOf, GroupCollector } from "./parts";

const NODE = 0.82;
const SWITCH_GAP = 0.35;
/** Free room between blocks along x and y; along y it also holds the names of the blocks. */
const BLOCK_GAP = [1.7, 2.9] as const;
/** Where in that room a bus runs. */
const BUS_PLACE = [0.85, 0.75] as const;

interface Address {
  /** Digit i at index i, least significant first; the switch's own level holds null. */
  digits: (number | null)[];
}

export function bcubeLayout(model: PlanModel): LogicalLayout | null {
  const addresses = addressesOf(model);
  if (!addresses) return null;
  const length = addresses[0]?.digits.length ?? 0;
  const sizes = Array.from({ length }, (_, i) =>
    addresses.reduce((most, { digits }) => Math.max(most, (digits[i] ?? -1) + 1), 1),
  );
  const { strides, slots } = stridesOf(sizes);
  const place = (digits: readonly (number | null)[]): [x: number, y: number] => {
    const at: [number, number] = [0, 0];
    digits.forEach((digit, i) => {
      at[i % 2]! += digit === null ? slots[i]! : digit * strides[i]!;
    });
    return at;
  };
  const { devices } = model;
  const x = new Float32Array(devices.count);
  const y = new Float32Array(devices.count);
  const groups = new GroupCollector(devices.count);
  const all = new Bounds();
  const devicesBy = new Map<string, number>();
  for (const { digits } of addresses)
    devicesBy.set(blockKey(digits), (devicesBy.get(blockKey(digits)) ?? 0) + 1);
  addresses.forEach(({ digits }, device) => {
    const [px, py] = place(digits);
    x[device] = px;
    y[device] = py;
    all.add(px, py, 0.5);
    const level = digits.indexOf(null);
    const upper = digits.slice(2).map((digit) => (digit === null ? "*" : String(digit)));
    const key = blockKey(digits);
    const label =
      level >= 2
        ? switchLabel(level, devicesBy.get(key) ?? 0)
        : upper.length === 0
          ? "BCube"
          : blockLabel(upper);
    groups.add(device, key, label, level >= 2 ? level : -1, px, py, 0.5);
  });
  const buses = busesOf(sizes, slots, place);
  for (const bus of buses)
    for (let i = 0; i < bus.points.length; i += 2) all.add(bus.points[i]!, bus.points[i + 1]!, 0.6);
  return {
    x,
    y,
    nodeWidth: NODE,
    nodeHeight: NODE,
    switchHeight: NODE,
    groups: groups.groups(0.25),
    groupOf: groups.of,
    buses,
    link: "arc",
    bounds: all.box(1.4),
  };
}

function blockKey(digits: readonly (number | null)[]): string {
  return digits
    .slice(2)
    .map((digit) => (digit === null ? "*" : String(digit)))
    .join(".");
}

/** In full where there is room for it. */
function switchLabel(level: number, count: number): string {
  return `L${level} \u00b7 ${count} switches\tL${level} \u00b7 ${count}\tL${level}`;
}

/** Block of the servers whose address starts so: "30xx" for digits a3 = 3, a2 = 0. */
function blockLabel(upper: readonly string[]): string {
  const separator = upper.some((digit) => digit.length > 1) ? "." : "";
  return [...[...upper].reverse(), "x", "x"].join(separator);
}

function addressesOf(model: PlanModel): Address[] | null {
  const { devices } = model;
  // Beyond n = 10 the digits of a name are joined by full stops.
  const joined = Number(model.topology?.n ?? 0) > 10;
  const addresses: Address[] = [];
  for (let device = 0; device < devices.count; device++) {
    const name = devices.names[device]!;
    const match = /^<(\d+),(.*)>$/.exec(name);
    const digits = digitsOf(match ? match[2]! : name, joined);
    if (!digits) return null;
    const low: (number | null)[] = digits.reverse();
    if (match) low.splice(Number(match[1]), 0, null);
    addresses.push({ digits: low });
  }
  const length = addresses[0]?.digits.length;
  if (length === undefined || addresses.some(({ digits }) => digits.length !== length)) return null;
  return addresses;
}

/** Step of each digit and the place of the switches that lack it. */
function stridesOf(sizes: readonly number[]): { strides: number[]; slots: number[] } {
  const strides: number[] = [];
  const slots: number[] = [];
  const extent = [0, 0];
  sizes.forEach((size, i) => {
    const axis = (i % 2) as 0 | 1;
    const stride = i < 2 ? 1 : extent[axis]! + BLOCK_GAP[axis]! * (0.75 + Math.floor(i / 2) * 0.25);
    const inner = i < 2 ? 1 : extent[axis]!;
    const slot = size * stride + (i < 2 ? SWITCH_GAP : BLOCK_GAP[axis]! * 0.3);
    strides.push(stride);
    slots.push(slot);
    extent[axis] = slot + inner;
  });
  return { strides, slots };
}

/**
 * For each level above the block, one ribbon per row or column of blocks, in the gap next to them.
 */
function busesOf(
  sizes: readonly number[],
  slots: readonly number[],
  place: (digits: readonly (number | null)[]) => [number, number],
): Bus[] {
  const buses: Bus[] = [];
  const right = (sizes[0] ?? 1) + SWITCH_GAP + 0.5;
  const bottom = (sizes[1] ?? 1) + SWITCH_GAP + 0.5;
  for (let level = 2; level < sizes.length; level++) {
    const others = sizes.map((size, i) => (i >= 2 && i !== level ? size : 1));
    const combinations = others.reduce((product, size) => product * size, 1);
    const servers = sizes.reduce((product, size, i) => (i === level || i < 2 ? product * size : product), 1);
    for (let c = 0; c < combinations; c++) {
      let rest = c;
      const digits = others.map((size) => {
        const digit = rest % size;
        rest = Math.floor(rest / size);
        return digit;
      });
      const [x, y] = place(digits);
      const [from, to] = [
        (level % 2 === 0 ? right : bottom) / 2 - 0.5,
        slots[level]! + (sizes[level % 2] ?? 1) / 2 - 0.5,
      ];
      const points =
        level % 2 === 0
          ? [x + from, y + bottom + BUS_PLACE[1], x + to, y + bottom + BUS_PLACE[1]]
          : [x + right + BUS_PLACE[0], y + from, x + right + BUS_PLACE[0], y + to];
      buses.push({ level, points, label: `L${level}`, cables: servers });
    }
  }
  return buses;
}
