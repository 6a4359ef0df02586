/**
 * The position of a line chart's crosshair: it follows the pointer and the arrow keys, from one
 * value of x to the next.
 */
import { bisector } from "d3-array";
import type { ScaleLinear } from "d3-scale";
import { type KeyboardEvent, type PointerEvent, useMemo, useState } from "react";
import { mergedRows, nearestIndex } from "./series";
import type { LineChartProps } from "./types";

const numbers = bisector((value: number) => value);

export function useCrosshairAt(
  { series, at: given, onAt }: Pick<LineChartProps, "series" | "at" | "onAt">,
  x: ScaleLinear<number, number>,
  width: number,
) {
  const [own, setOwn] = useState<number | null>(null);
  const at = given === undefined ? own : given;
  const xs = useMemo(() => mergedRows(series).xs, [series]);
  const move = (next: number | null) => {
    setOwn(next);
    onAt?.(next);
  };
  const onPointerMove = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const value = x.invert(((event.clientX - box.left) / box.width) * width);
    const index = nearestIndex(
      xs.map((v) => ({ x: v })),
      value,
    );
    move(index < 0 ? null : xs[index]!);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") return move(null);
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0 || xs.length === 0) return;
    event.preventDefault();
    const place = at === null ? (by > 0 ? -1 : xs.length) : numbers.left(xs, at);
    move(xs[Math.max(0, Math.min(xs.length - 1, place + by))]!);
  };
  return { at, handlers: { onPointerMove, onPointerLeave: () => move(null), onKeyDown } };
}
