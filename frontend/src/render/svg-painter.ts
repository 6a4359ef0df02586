/**
 * The same primitives as SVG text, for print and export: no DOM, so it also runs in a test or a
 * worker.
 */
import {
  type BadgeBatch,
  type Batch,
  badgeTextPx,
  badgeWidthPx,
  CROSS,
  CROSS_ARM,
  type DisplayList,
  type LabelBatch,
  type PathBatch,
  type PolygonBatch,
  type RectBatch,
  type StrokeStyle,
} from "@/scene";
import { FONT_FAMILY, type ThemeName } from "@/units";
import { type Palette, paletteOf } from "./resolve";
import { estimateWidth, fitText } from "./text";
import { fitTransform, type Size, type Transform } from "./transform";

export interface SvgOptions {
  theme: ThemeName;
  size: Size;
  /** When absent, all of the view. */
  transform?: Transform;
  overlay?: readonly Batch[];
  /** Title and description of the picture, for readers and search. */
  title?: string;
  description?: string;
  /** A last line: plan hash, engine, date of the document. */
  provenance?: string;
}

const PROVENANCE_PX = 20;

export function toSvg(list: DisplayList, options: SvgOptions): string {
  const { size, theme } = options;
  const palette = paletteOf(theme);
  const drawing = options.provenance ? { ...size, height: size.height - PROVENANCE_PX } : size;
  const transform = options.transform ?? fitTransform(list.bounds, drawing);
  const body = [...list.batches, ...(options.overlay ?? [])]
    .filter((b) => transform.scale >= (b.minScale ?? 0) && transform.scale < (b.maxScale ?? Infinity))
    .map((batch) => batchSvg(batch, palette, transform))
    .filter((text) => text !== "");
  const { tokens } = palette;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size.width}" height="${size.height}" viewBox="0 0 ${size.width} ${size.height}" font-family="${escapeXml(FONT_FAMILY)}" role="img">`,
    options.title ? `<title>${escapeXml(options.title)}</title>` : "",
    options.description ? `<desc>${escapeXml(options.description)}</desc>` : "",
    `<rect width="${size.width}" height="${size.height}" fill="${tokens.background}"/>`,
    ...body,
    options.provenance
      ? `<text x="8" y="${size.height - 7}" font-size="11" fill="${tokens.muted}">${escapeXml(options.provenance)}</text>`
      : "",
    "</svg>",
  ]
    .filter((line) => line !== "")
    .join("\n");
}

export function escapeXml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Two decimals: a hundredth of a pixel. */
function px(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function strokeAttributes(stroke: StrokeStyle, palette: Palette, transform: Transform): string {
  const width = stroke.world ? Math.max(1, stroke.width * transform.scale) : stroke.width;
  const dash =
    stroke.dashPx && stroke.dashPx.length > 0 ? ` stroke-dasharray="${stroke.dashPx.join(" ")}"` : "";
  return ` stroke="${palette.colour(stroke.colour)}" stroke-width="${px(width)}"${dash}`;
}

function batchSvg(batch: Batch, palette: Palette, t: Transform): string {
  switch (batch.kind) {
    case "rects":
      return rectsSvg(batch, palette, t);
    case "paths":
      return pathsSvg(batch, palette, t);
    case "polygons":
      return polygonsSvg(batch, palette, t);
    case "labels":
      return labelsSvg(batch, palette, t);
    case "badges":
      return badgesSvg(batch, palette, t);
  }
}

function group(attributes: string, children: readonly string[], alpha = 1): string {
  if (children.length === 0) return "";
  return `<g${attributes}${alpha < 1 ? ` opacity="${alpha}"` : ""}>${children.join("")}</g>`;
}

/** A path for each colour keeps files with thousands of boxes small. */
function rectsSvg(batch: RectBatch, palette: Palette, t: Transform): string {
  const paths = new Map<number, string[]>();
  const inset = batch.insetPx ?? 0;
  for (let i = 0; i < batch.boxes.length / 4; i++) {
    const [bx, by, bw, bh] = batch.boxes.subarray(i * 4, i * 4 + 4) as unknown as [
      number,
      number,
      number,
      number,
    ];
    const gapX = Math.min(inset, bw * t.scale * 0.15);
    const gapY = Math.min(inset, bh * t.scale * 0.15);
    const [x, y] = [bx * t.scale + t.x + gapX, by * t.scale + t.y + gapY];
    const colour = batch.colours ? batch.colours[i]! : 0;
    const list = paths.get(colour) ?? [];
    const [w, h] = [bw * t.scale - 2 * gapX, bh * t.scale - 2 * gapY];
    list.push(
      batch.round
        ? `M${px(x)} ${px(y + h / 2)}a${px(w / 2)} ${px(h / 2)} 0 1 0 ${px(w)} 0a${px(w / 2)} ${px(h / 2)} 0 1 0 ${px(-w)} 0z`
        : `M${px(x)} ${px(y)}h${px(w)}v${px(h)}h${px(-w)}z`,
    );
    paths.set(colour, list);
  }
  const stroke = batch.stroke ? strokeAttributes(batch.stroke, palette, t) : "";
  const children = [...paths.entries()].map(
    ([colour, d]) =>
      `<path d="${d.join("")}" fill="${batch.hollow ? "none" : palette.colour(batch.palette[colour]!)}"/>`,
  );
  return group(stroke, children, batch.alpha);
}

function pathsSvg(batch: PathBatch, palette: Palette, t: Transform): string {
  const paths = batch.strokes.map((): string[] => []);
  const at = (p: number) =>
    `${px(batch.points[p * 2]! * t.scale + t.x)} ${px(batch.points[p * 2 + 1]! * t.scale + t.y)}`;
  for (let i = 0; i < batch.starts.length - 1; i++) {
    const [from, to] = [batch.starts[i]!, batch.starts[i + 1]!];
    const rest = Array.from({ length: to - from - 1 }, (_, j) => at(from + 1 + j));
    const style = batch.styles ? batch.styles[i]! : 0;
    paths[style]?.push(`M${at(from)}${batch.shape === "cubic" ? "C" : "L"}${rest.join(" ")}`);
  }
  const children = paths.flatMap((d, style) =>
    d.length === 0 ? [] : [`<path d="${d.join("")}"${strokeAttributes(batch.strokes[style]!, palette, t)}/>`],
  );
  return group(' fill="none" stroke-linejoin="round"', children, batch.alpha);
}

function polygonsSvg(batch: PolygonBatch, palette: Palette, t: Transform): string {
  const children: string[] = [];
  for (let i = 0; i < batch.starts.length - 1; i++) {
    const points: string[] = [];
    for (let p = batch.starts[i]!; p < batch.starts[i + 1]!; p++)
      points.push(
        `${px(batch.points[p * 2]! * t.scale + t.x)},${px(batch.points[p * 2 + 1]! * t.scale + t.y)}`,
      );
    const fill = palette.shaded(batch.palette[batch.colours[i]!]!, batch.shades?.[i] ?? 0);
    children.push(`<polygon points="${points.join(" ")}" fill="${fill}"/>`);
  }
  const stroke = batch.stroke ? `${strokeAttributes(batch.stroke, palette, t)} stroke-linejoin="round"` : "";
  return group(stroke, children, batch.alpha);
}

const ANCHORS = { left: "start", center: "middle", right: "end" } as const;
const SHIFTS = { top: 0.78, middle: 0.35, bottom: -0.22 } as const;

function labelsSvg(batch: LabelBatch, palette: Palette, t: Transform): string {
  const weight = batch.weight ?? 400;
  const [dx, dy] = batch.offsetPx ?? [0, 0];
  const shift = SHIFTS[batch.baseline ?? "middle"] * batch.sizePx;
  const children: string[] = [];
  batch.texts.forEach((full, i) => {
    if (batch.space && batch.space[i * 2 + 1]! * t.scale < batch.sizePx * 0.95) return;
    const space = batch.space ? batch.space[i * 2]! * t.scale : Infinity;
    const text = fitText(full, space, batch.sizePx, weight, batch.overflow ?? "hide", estimateWidth);
    if (text === null) return;
    const x = batch.anchors[i * 2]! * t.scale + t.x + dx;
    const y = batch.anchors[i * 2 + 1]! * t.scale + t.y + dy;
    const fill = palette.colour(batch.palette[batch.colours ? batch.colours[i]! : 0]!);
    const place = batch.turn
      ? `transform="translate(${px(x)} ${px(y)}) rotate(${batch.turn})" y="${px(shift)}"`
      : `x="${px(x)}" y="${px(y + shift)}"`;
    children.push(`<text ${place} fill="${fill}">${escapeXml(text)}</text>`);
  });
  const halo = batch.halo
    ? ` stroke="${batch.halo === "contrast" ? palette.tokens.background : palette.colour(batch.halo)}" stroke-width="3.5" paint-order="stroke" stroke-linejoin="round"`
    : "";
  return group(
    ` font-size="${batch.sizePx}" font-weight="${weight}" text-anchor="${ANCHORS[batch.align ?? "left"]}"${halo}`,
    children,
  );
}

function badgesSvg(batch: BadgeBatch, palette: Palette, t: Transform): string {
  const { texts, anchors, sizePx } = batch;
  const [half, arm] = [sizePx / 2, sizePx * CROSS_ARM];
  const colour = palette.colour(batch.colour);
  const children = texts.map((text, i) => {
    const x = anchors[i * 2]! * t.scale + t.x;
    const y = anchors[i * 2 + 1]! * t.scale + t.y;
    const width = badgeWidthPx(batch, text);
    const frame = `<rect x="${px(x - width / 2)}" y="${px(y - half)}" width="${px(width)}" height="${sizePx}" rx="${batch.shape === "ring" ? half : 2}" fill="${palette.tokens.background}"/>`;
    if (text === CROSS)
      return `${frame}<path d="M${px(x - arm)} ${px(y - arm)}l${px(arm * 2)} ${px(arm * 2)}m0 ${px(-arm * 2)}l${px(-arm * 2)} ${px(arm * 2)}"/>`;
    const size = badgeTextPx(batch);
    return `${frame}<text x="${px(x)}" y="${px(y + size * SHIFTS.middle)}" font-size="${size}" font-weight="700" text-anchor="middle" fill="${colour}" stroke="none">${escapeXml(text)}</text>`;
  });
  return group(` stroke="${colour}" stroke-width="2" stroke-linecap="round"`, children);
}
