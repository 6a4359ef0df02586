/** Saves pictures as files. */
import type { Batch, DisplayList } from "@/scene";
import type { ThemeName } from "@/units";
import { paint } from "./canvas-painter";
import { paletteOf } from "./resolve";
import { fitTransform, type Size } from "./transform";

/** The whole view as a PNG with `ratio` device pixels per CSS pixel. */
export function pictureCanvas(
  list: DisplayList,
  above: readonly Batch[],
  theme: ThemeName,
  size: Size,
  ratio: number,
): Promise<Blob> {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(size.width * ratio));
  canvas.height = Math.max(1, Math.round(size.height * ratio));
  const context = canvas.getContext("2d");
  if (!context) return Promise.reject(new Error("This browser cannot draw pictures (no 2D canvas)."));
  const palette = paletteOf(theme);
  context.fillStyle = palette.tokens.background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  const state = { context, palette, transform: fitTransform(list.bounds, size), size, ratio };
  paint([...list.batches, ...above], state);
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("The picture could not be encoded."))),
      "image/png",
    );
  });
}
