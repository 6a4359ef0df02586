/** A strip as an image with one pixel per server and interval, which the page draws enlarged. */
import { paletteOf } from "@/render/resolve";
import { HEAT_CLASSES, heatColour } from "@/scene";
import type { ThemeName } from "@/units";
import type { Strip } from "../session/series";

let scratch: HTMLCanvasElement | null = null;

/** One pixel per server and interval, as a data URL; null without a canvas. */
export function pictureOf(strip: Strip, most: number, theme: ThemeName): string | null {
  if (typeof document === "undefined" || most <= 0) return null;
  scratch ??= document.createElement("canvas");
  scratch.width = strip.columns;
  scratch.height = strip.rows;
  const context = scratch.getContext("2d");
  if (!context) return null;
  const palette = paletteOf(theme);
  const colours = Array.from({ length: HEAT_CLASSES }, (_, i) => palette.colour(heatColour(i + 1)));
  for (let row = 0; row < strip.rows; row++)
    for (let column = 0; column < strip.columns; column++) {
      const value = strip.values[row * strip.columns + column]!;
      if (Number.isNaN(value)) continue;
      context.fillStyle =
        value > 0
          ? colours[Math.min(HEAT_CLASSES - 1, Math.floor((value / most) * HEAT_CLASSES))]!
          : palette.tokens.border;
      context.fillRect(column, row, 1, 1);
    }
  return scratch.toDataURL();
}
