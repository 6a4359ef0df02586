/**
 * Paints primitives to a Canvas 2D context. Nothing outside the visible part is painted; colours
 * are set once for each run of equal colours.
 */
import {
  type BadgeBatch,
  type Batch,
  badgeTextPx,
  badgeWidthPx,
  CROSS,
  CROSS_ARM,
  type LabelBatch,
  type PathBatch,
  type PolygonBatch,
  type RectBatch,
  type StrokeStyle,
} from "@/scene";
import { FONT_FAMILY, inkOn } from "@/units";
import type { Palette } from "./resolve";
import { fitText, type Measure } from "./text";
import type { Size, Transform } from "./transform";

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

export interface PaintState {
  context: Context;
  palette: Palette;
  transform: Transform;
  size: Size;
  /** Device pixels per CSS pixel. */
  ratio: number;
}

/** Paints `batches` over the existing content. Returns the number of single links drawn. */
export function paint(batches: readonly Batch[], state: PaintState): number {
  let links = 0;
  const { context, transform, ratio } = state;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.lineJoin = "round";
  for (const batch of batches) {
    if (transform.scale < (batch.minScale ?? 0) || transform.scale >= (batch.maxScale ?? Infinity)) continue;
    context.globalAlpha = "alpha" in batch ? (batch.alpha ?? 1) : 1;
    switch (batch.kind) {
      case "rects":
        paintRects(batch, state);
        break;
      case "paths":
        links += paintPaths(batch, state);
        break;
      case "polygons":
        paintPolygons(batch, state);
        break;
      case "labels":
        paintLabels(batch, state);
        break;
      case "badges":
        paintBadges(batch, state);
        break;
    }
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
  return links;
}

/**
 * More paths than this are painted as solid hairlines: dashes cannot be distinguished in such a
 * crowd, and dashes and wider strokes take seven times as long without a GPU (measured: 97 instead
 * of 13 ms for 3,328 cables).
 */
const CROWD = 600;

function setStroke(
  stroke: StrokeStyle,
  { context, palette, transform, ratio }: PaintState,
  crowded = false,
): void {
  context.strokeStyle = palette.colour(stroke.colour);
  context.lineWidth = crowded
    ? 1 / ratio
    : stroke.world
      ? Math.max(1, stroke.width * transform.scale)
      : stroke.width;
  context.setLineDash((crowded ? [] : (stroke.dashPx ?? [])) as number[]);
}

function paintRects(batch: RectBatch, state: PaintState): void {
  const { context, transform, size, ratio, palette } = state;
  const { boxes, colours } = batch;
  const inset = batch.insetPx ?? 0;
  const snap = (value: number) => Math.round(value * ratio) / ratio;
  const outlines: number[] = [];
  const stroked = batch.stroke !== undefined;
  let current = -1;
  for (let i = 0, count = boxes.length / 4; i < count; i++) {
    const left = boxes[i * 4]! * transform.scale + transform.x;
    const top = boxes[i * 4 + 1]! * transform.scale + transform.y;
    const right = left + boxes[i * 4 + 2]! * transform.scale;
    const bottom = top + boxes[i * 4 + 3]! * transform.scale;
    if (right < 0 || bottom < 0 || left > size.width || top > size.height) continue;
    // The gap shrinks with the box, so that small boxes do not vanish into it.
    const gapX = Math.min(inset, (right - left) * 0.15);
    const gapY = Math.min(inset, (bottom - top) * 0.15);
    const x = snap(left + gapX);
    const y = snap(top + gapY);
    const width = Math.max(1 / ratio, snap(right - gapX) - x);
    const height = Math.max(1 / ratio, snap(bottom - gapY) - y);
    if (!batch.hollow) {
      const colour = colours ? colours[i]! : 0;
      if (colour !== current) {
        current = colour;
        context.fillStyle = palette.colour(batch.palette[colour]!);
      }
      if (batch.round) {
        context.beginPath();
        context.ellipse(x + width / 2, y + height / 2, width / 2, height / 2, 0, 0, 2 * Math.PI);
        context.fill();
      } else context.fillRect(x, y, width, height);
    }
    if (stroked) outlines.push(x, y, width, height);
  }
  if (!batch.stroke || outlines.length === 0) return;
  setStroke(batch.stroke, state);
  context.beginPath();
  for (let i = 0; i < outlines.length; i += 4) {
    const [x, y, width, height] = [outlines[i]!, outlines[i + 1]!, outlines[i + 2]!, outlines[i + 3]!];
    if (batch.round) {
      context.moveTo(x + width, y + height / 2);
      context.ellipse(x + width / 2, y + height / 2, width / 2, height / 2, 0, 0, 2 * Math.PI);
    } else context.rect(x, y, width, height);
  }
  context.stroke();
}

function paintPaths(batch: PathBatch, state: PaintState): number {
  let painted = 0;
  const { context, transform, size } = state;
  const { points, starts, styles } = batch;
  const count = starts.length - 1;
  const { scale, x: tx, y: ty } = transform;
  const inSight = new Uint8Array(count);
  let sighted = 0;
  for (let i = 0; i < count; i++)
    if (seen(points, starts[i]!, starts[i + 1]!, transform, size)) {
      inSight[i] = 1;
      sighted++;
    }
  const crowded = sighted > CROWD;
  context.lineJoin = crowded ? "miter" : "round";
  for (let style = 0; style < batch.strokes.length; style++) {
    let any = false;
    for (let i = 0; i < count; i++) {
      if ((styles ? styles[i]! : 0) !== style) continue;
      const from = starts[i]!;
      const to = starts[i + 1]!;
      if (inSight[i] === 0) continue;
      if (!any) {
        setStroke(batch.strokes[style]!, state, crowded);
        context.beginPath();
        any = true;
      }
      painted++;
      context.moveTo(points[from * 2]! * scale + tx, points[from * 2 + 1]! * scale + ty);
      if (crowded && batch.shape === "cubic") {
        // In a crowd the curvature of lines is not visible, but takes most of the time.
        const p = (to - 1) * 2;
        context.lineTo(points[p]! * scale + tx, points[p + 1]! * scale + ty);
      } else if (batch.shape === "cubic") {
        const p = (from + 1) * 2;
        context.bezierCurveTo(
          points[p]! * scale + tx,
          points[p + 1]! * scale + ty,
          points[p + 2]! * scale + tx,
          points[p + 3]! * scale + ty,
          points[p + 4]! * scale + tx,
          points[p + 5]! * scale + ty,
        );
      } else {
        for (let p = from + 1; p < to; p++)
          context.lineTo(points[p * 2]! * scale + tx, points[p * 2 + 1]! * scale + ty);
      }
    }
    if (any) context.stroke();
  }
  return batch.counted ? painted : 0;
}

/** Whether the box around a path overlaps the screen. */
function seen(points: Float32Array, from: number, to: number, t: Transform, size: Size): boolean {
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let p = from; p < to; p++) {
    const x = points[p * 2]!;
    const y = points[p * 2 + 1]!;
    if (x < x0) x0 = x;
    if (x > x1) x1 = x;
    if (y < y0) y0 = y;
    if (y > y1) y1 = y;
  }
  return (
    x1 * t.scale + t.x >= 0 &&
    y1 * t.scale + t.y >= 0 &&
    x0 * t.scale + t.x <= size.width &&
    y0 * t.scale + t.y <= size.height
  );
}

function paintPolygons(batch: PolygonBatch, state: PaintState): void {
  const { context, transform, palette } = state;
  const { points, starts, colours, shades } = batch;
  const { scale, x: tx, y: ty } = transform;
  if (batch.stroke) setStroke(batch.stroke, state);
  for (let i = 0; i < starts.length - 1; i++) {
    context.beginPath();
    for (let p = starts[i]!; p < starts[i + 1]!; p++) {
      const x = points[p * 2]! * scale + tx;
      const y = points[p * 2 + 1]! * scale + ty;
      if (p === starts[i]) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    context.closePath();
    context.fillStyle = palette.shaded(batch.palette[colours[i]!]!, shades?.[i] ?? 0);
    context.fill();
    if (batch.stroke) context.stroke();
  }
}

/** A cache of text widths, because the same few names are measured repeatedly. */
const WIDTHS = new Map<string, number>();

function measureWith(context: Context): Measure {
  return (text, sizePx, weight) => {
    const key = `${sizePx}|${weight}|${text}`;
    let width = WIDTHS.get(key);
    if (width === undefined) {
      if (WIDTHS.size > 50_000) WIDTHS.clear();
      width = context.measureText(text).width;
      WIDTHS.set(key, width);
    }
    return width;
  };
}

function paintLabels(batch: LabelBatch, state: PaintState): void {
  const { context, transform, size, palette } = state;
  const { texts, anchors, space, colours } = batch;
  const weight = batch.weight ?? 400;
  const turned = (batch.turn ?? 0) !== 0;
  context.font = `${weight} ${batch.sizePx}px ${FONT_FAMILY}`;
  context.textAlign = batch.align ?? "left";
  context.textBaseline = batch.baseline ?? "middle";
  const measure = measureWith(context);
  const [dx, dy] = batch.offsetPx ?? [0, 0];
  // A line of text needs about its size in height; without it, half the text would lie outside its
  // box.
  const lineHeight = batch.sizePx * 0.95;
  let current = -1;
  if (batch.halo) {
    if (batch.halo !== "contrast") context.strokeStyle = palette.colour(batch.halo);
    context.lineWidth = 3.5;
    context.setLineDash([]);
  }
  for (let i = 0; i < texts.length; i++) {
    const x = anchors[i * 2]! * transform.scale + transform.x + dx;
    const y = anchors[i * 2 + 1]! * transform.scale + transform.y + dy;
    if (x < -400 || y < -40 || x > size.width + 400 || y > size.height + 40) continue;
    if (space && space[i * 2 + 1]! * transform.scale < lineHeight) continue;
    const width = space ? space[i * 2]! * transform.scale : Infinity;
    const text = fitText(texts[i]!, width, batch.sizePx, weight, batch.overflow ?? "hide", measure);
    if (text === null) continue;
    const colour = colours ? colours[i]! : 0;
    if (colour !== current) {
      current = colour;
      context.fillStyle = palette.colour(batch.palette[colour]!);
      if (batch.halo === "contrast") context.strokeStyle = inkOn(palette.colour(batch.palette[colour]!));
    }
    if (turned) {
      context.save();
      context.translate(x, y);
      context.rotate((batch.turn! * Math.PI) / 180);
      if (batch.halo) context.strokeText(text, 0, 0);
      context.fillText(text, 0, 0);
      context.restore();
      continue;
    }
    if (batch.halo) context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}

function paintBadges(batch: BadgeBatch, { context, transform, palette }: PaintState): void {
  const { texts, anchors, sizePx } = batch;
  const half = sizePx / 2;
  context.strokeStyle = palette.colour(batch.colour);
  context.lineWidth = 2;
  context.lineCap = "round";
  context.setLineDash([]);
  context.textAlign = "center";
  context.textBaseline = "middle";
  texts.forEach((text, i) => {
    const x = anchors[i * 2]! * transform.scale + transform.x;
    const y = anchors[i * 2 + 1]! * transform.scale + transform.y;
    const width = badgeWidthPx(batch, text);
    context.fillStyle = palette.tokens.background;
    context.beginPath();
    context.roundRect(x - width / 2, y - half, width, sizePx, batch.shape === "ring" ? half : 2);
    context.fill();
    context.stroke();
    if (text === CROSS) {
      const arm = sizePx * CROSS_ARM;
      context.beginPath();
      context.moveTo(x - arm, y - arm);
      context.lineTo(x + arm, y + arm);
      context.moveTo(x + arm, y - arm);
      context.lineTo(x - arm, y + arm);
      context.stroke();
      return;
    }
    context.fillStyle = palette.colour(batch.colour);
    context.font = `700 ${badgeTextPx(batch)}px ${FONT_FAMILY}`;
    context.fillText(text, x, y + 0.5);
  });
  context.lineCap = "butt";
}
