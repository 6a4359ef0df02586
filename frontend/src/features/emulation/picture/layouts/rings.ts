/**
 * Rings of groups [ours]: servers that share all but their last digit are placed around their
 * switch, which has the shared digits; the groups of each further digit form a ring. Cables between
 * groups are arcs through the middle of their common ring.
 */
import { ring } from "@/scene/logical/parts";
import type { Network } from "../../session/network";
import { boxesAround } from "./boxes";
import { digitsOf, type Layout, type Region } from "./layout";

const PADDING_PX = 12;
/** Radius of a group relative to the radius of its content. */
const ROOM = 1.12;
/** How far an arc bends towards the middle of its ring. */
const BEND = 0.45;
/** The largest ratio of a ring's width to its height. */
const WIDEST = 2.1;

type Place = readonly [x: number, y: number];

export function ringsLayoutOf(network: Network, width: number, height: number): Layout {
  const digits = digitsOf(network);
  const rings = ringsOf(digits.slice(0, network.servers));
  const centre = (address: readonly number[]): Place => rings.placeOf(address);
  const groups = groupsOf(digits.slice(0, network.servers));
  const fit = fitted(
    [
      ...digits.map((address) => ({ place: centre(address), radius: 1 })),
      ...groups.map((address) => ({ place: centre(address), radius: rings.radius[address.length]! })),
    ],
    width,
    height,
  );
  const [x, y] = [new Float32Array(digits.length), new Float32Array(digits.length)];
  digits.forEach((address, node) => {
    [x[node], y[node]] = fit.at(centre(address));
  });
  const curves = new Float32Array(network.links * 8);
  for (let link = 0; link < network.links; link++) {
    const [a, b] = [network.a[link]!, network.b[link]!];
    const direct = a < network.servers && b < network.servers;
    const [cx, cy] = fit.at(centre(sharedDigits(digits[a]!, digits[b]!)));
    const bend = direct ? BEND : 0;
    const handle = (node: number) => [x[node]! + (cx - x[node]!) * bend, y[node]! + (cy - y[node]!) * bend];
    curves.set([x[a]!, y[a]!, ...handle(a), ...handle(b), x[b]!, y[b]!], link * 8);
  }
  return {
    width,
    height,
    boxes: boxesAround(network, x, y, width, height),
    curves,
    stubs: new Set(),
    lines: "free",
    tiers: [],
    frames: groups.map((address) => regionOf(address, rings, fit)),
  };
}

interface Rings {
  /** Centre of a node, or of the group of all addresses that begin with these digits. */
  placeOf(address: readonly number[]): Place;
  /** The radius of a group by the number of digits that its members share. */
  radius: readonly number[];
}

/** Rings in units of a server's own room, around 0, 0. */
function ringsOf(servers: readonly (readonly number[])[]): Rings {
  const depth = servers.reduce((most, address) => Math.max(most, address.length), 0);
  // A slice has some values of a digit only; a ring has a place for each that there is.
  const values = Array.from({ length: depth }, (_, i) =>
    [...new Set(servers.map((address) => address[i] ?? 0))].sort((a, b) => a - b),
  );
  const radius: number[] = new Array(depth + 1).fill(1);
  const places: (readonly Place[])[] = [];
  for (let i = depth - 1; i >= 0; i--) {
    const leaf = i === depth - 1;
    const placed = ring(values[i]!.length, radius[i + 1]! * (leaf ? 1 : ROOM), leaf);
    places[i] = placed.places;
    radius[i] = placed.outer;
  }
  return {
    radius,
    placeOf: (address) => {
      let [px, py] = [0, 0];
      address.forEach((digit, i) => {
        const [dx, dy] = places[i]?.[values[i]!.indexOf(digit)] ?? [0, 0];
        px += dx;
        py += dy;
      });
      return [px, py];
    },
  };
}

interface Fit {
  at(place: Place): [x: number, y: number];
  scale: readonly [x: number, y: number];
}

/** Stretches circles to the picture; wide pictures have ellipses. */
function fitted(circles: readonly { place: Place; radius: number }[], width: number, height: number): Fit {
  const range = (of: 0 | 1) =>
    [
      Math.min(...circles.map(({ place, radius }) => place[of] - radius)),
      Math.max(...circles.map(({ place, radius }) => place[of] + radius)),
    ] as const;
  const [[left, right], [top, bottom]] = [range(0), range(1)];
  const free = [width - 2 * PADDING_PX, height - 2 * PADDING_PX] as const;
  const [wide, tall] = [free[0] / (right - left), free[1] / (bottom - top)];
  const scale = [Math.min(wide, tall * WIDEST), Math.min(tall, wide * WIDEST)] as const;
  const middle = [(left + right) / 2, (top + bottom) / 2] as const;
  return {
    scale,
    at: ([x, y]) => [width / 2 + (x - middle[0]) * scale[0], height / 2 + (y - middle[1]) * scale[1]],
  };
}

function sharedDigits(first: readonly number[], second: readonly number[]): readonly number[] {
  const end = first.findIndex((digit, i) => digit !== second[i]);
  return end < 0 ? first : first.slice(0, end);
}

/** The digits of each group whose members share one digit or more, the outermost first. */
function groupsOf(servers: readonly (readonly number[])[]): (readonly number[])[] {
  const depth = servers.reduce((most, address) => Math.max(most, address.length), 0);
  return Array.from({ length: Math.max(0, depth - 1) }, (_, i) => i + 1).flatMap((shared) => {
    const groups = new Map(
      servers.map((address) => [address.slice(0, shared).join(), address.slice(0, shared)]),
    );
    return groups.size > 1 ? [...groups.values()] : [];
  });
}

/**
 * An ellipse around a group; only the outermost have a label, as there is no room in the others.
 */
function regionOf(address: readonly number[], rings: Rings, fit: Fit): Region {
  const [x, y] = fit.at(rings.placeOf(address));
  const [rx, ry] = [0, 1].map((axis) => rings.radius[address.length]! * fit.scale[axis]!) as [number, number];
  const label = address.length === 1 ? address.join() : "";
  return { label, x: x - rx, y: y - ry, width: 2 * rx, height: 2 * ry, round: true };
}
