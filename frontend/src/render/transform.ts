/**
 * Converts world to CSS pixels: screen = world * scale + offset. The zoom is relative to the scale
 * that fits the view.
 */
import type { Box } from "@/scene";

export interface Transform {
  scale: number;
  x: number;
  y: number;
}

export interface Size {
  width: number;
  height: number;
}

/** All of `bounds` in the middle of `size`. */
export function fitTransform(bounds: Box, size: Size, paddingPx = 8): Transform {
  const width = Math.max(1, size.width - 2 * paddingPx);
  const height = Math.max(1, size.height - 2 * paddingPx);
  const scale = Math.min(width / Math.max(bounds.width, 1e-9), height / Math.max(bounds.height, 1e-9));
  return {
    scale,
    x: size.width / 2 - (bounds.x + bounds.width / 2) * scale,
    y: size.height / 2 - (bounds.y + bounds.height / 2) * scale,
  };
}

/** The fit, then moved and scaled by a d3 zoom transform. */
export function compose(fit: Transform, zoom: { k: number; x: number; y: number }): Transform {
  return { scale: fit.scale * zoom.k, x: fit.x * zoom.k + zoom.x, y: fit.y * zoom.k + zoom.y };
}

export function toWorld(transform: Transform, x: number, y: number): [x: number, y: number] {
  return [(x - transform.x) / transform.scale, (y - transform.y) / transform.scale];
}

/** The visible part of the world. */
export function visibleBox(transform: Transform, size: Size): Box {
  const [x, y] = toWorld(transform, 0, 0);
  return { x, y, width: size.width / transform.scale, height: size.height / transform.scale };
}
