/** Boxes around centres: as large as they may be without overlap. */
import type { Network } from "../../session/network";
import { SERVER_PX, SWITCH_PX } from "./layout";

/**
 * The free space between two boxes, for their links: a share of the distance of their centres, with
 * a minimum in pixels.
 */
const GAP = { share: 0.14, leastPx: 6, mostShare: 0.45 };

const withoutGap = (distance: number): number =>
  distance - Math.min(Math.max(distance * GAP.share, GAP.leastPx), distance * GAP.mostShare);

/**
 * Boxes of all nodes around their centres, scaled equally so that none overlaps another or leaves
 * the picture.
 */
export function boxesAround(
  network: Network,
  x: Float32Array,
  y: Float32Array,
  width: number,
  height: number,
): Float32Array {
  const sizeOf = (node: number) => (node < network.servers ? SERVER_PX : SWITCH_PX);
  let scale = 1;
  for (let node = 0; node < x.length; node++) {
    const own = sizeOf(node);
    const edge = [Math.min(x[node]!, width - x[node]!), Math.min(y[node]!, height - y[node]!)] as const;
    scale = Math.min(scale, (2 * edge[0]) / own.width, (2 * edge[1]) / own.height);
    for (let other = 0; other < node; other++) {
      const far = sizeOf(other);
      const across = (2 * withoutGap(Math.abs(x[node]! - x[other]!))) / (own.width + far.width);
      const down = (2 * withoutGap(Math.abs(y[node]! - y[other]!))) / (own.height + far.height);
      scale = Math.min(scale, Math.max(across, down));
    }
  }
  const boxes = new Float32Array(x.length * 4);
  for (let node = 0; node < x.length; node++) {
    const [wide, tall] = [sizeOf(node).width * scale, sizeOf(node).height * scale];
    boxes.set([x[node]! - wide / 2, y[node]! - tall / 2, wide, tall], node * 4);
  }
  return boxes;
}
