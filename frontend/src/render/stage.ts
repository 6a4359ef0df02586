/**
 * A picture on two canvases: the plan below, selection and hover above, so that a selection never
 * waits for the plan to be painted. Independent of React; the component feeds it.
 */
import type { Batch, DisplayList, Hit } from "@/scene";
import type { ThemeName } from "@/units";
import { paint } from "./canvas-painter";
import { Layer, type LayerFrame } from "./layer";
import { paletteOf } from "./resolve";
import type { Size, Transform } from "./transform";

/** Opacity of the veil over everything that is not selected. */
const VEIL = { light: 0.66, dark: 0.62 } as const;
/** After a pause of this length in a gesture, a complex picture is painted sharp again. */
const SETTLE_MS = 90;

export interface PaintStats {
  /** Number of single links painted below, and in the selection. */
  links: number;
  selectedLinks: number;
  baseMs: number;
  overlayMs: number;
}

export class Stage {
  readonly stats: PaintStats = { links: 0, selectedLinks: 0, baseMs: 0, overlayMs: 0 };
  private list: DisplayList | null = null;
  private overlay: readonly Batch[] | null = null;
  private marks: readonly Batch[] = [];
  private hover: Hit | null = null;
  private theme: ThemeName = "light";
  private size: Size = { width: 1, height: 1 };
  private ratio = 1;
  private transform: Transform = { scale: 1, x: 0, y: 0 };
  private painted: Transform = this.transform;
  private readonly base: Layer;
  private readonly over: Layer;
  private frame = 0;
  private settle: ReturnType<typeof setTimeout> | undefined;
  private dirtyBase = false;
  private dirtyOver = false;
  private moving = false;

  constructor(
    base: HTMLCanvasElement,
    over: HTMLCanvasElement,
    private readonly onPaint: (stats: PaintStats) => void,
  ) {
    this.base = new Layer(base, (frame) => this.paintBase(frame));
    this.over = new Layer(over, (frame) => this.paintOver(frame));
  }

  setPicture(list: DisplayList, theme: ThemeName): void {
    this.list = list;
    this.theme = theme;
    this.request(true, true);
  }

  setOverlay(overlay: readonly Batch[] | null): void {
    this.overlay = overlay;
    this.request(false, true);
  }

  /** Sets the batches that stay visible for any selection. */
  setMarks(marks: readonly Batch[]): void {
    this.marks = marks;
    this.request(false, true);
  }

  setHover(hover: Hit | null): void {
    if (this.hover === hover) return;
    this.hover = hover;
    this.request(false, true);
  }

  resize(size: Size, ratio: number): void {
    this.size = size;
    this.ratio = ratio;
    this.base.resize(size, ratio);
    this.over.resize(size, ratio);
    // A resized canvas is empty: paint in this frame, or it flashes.
    this.request(true, true);
    this.flush();
  }

  /** `gesture`: further calls follow at once. */
  setTransform(transform: Transform, gesture: boolean): void {
    this.transform = transform;
    if (gesture) this.moving = true;
    this.request(true, true);
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.settle);
  }

  /** Paints now instead of in the next frame. */
  flush(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const { transform, size, ratio } = this;
    let owed = false;
    if (this.moving) {
      owed = this.base.follow(transform, this.painted, size, ratio) || owed;
      owed = this.over.follow(transform, this.painted, size, ratio) || owed;
      if (!owed) this.painted = transform;
      clearTimeout(this.settle);
      this.settle = setTimeout(() => {
        this.moving = false;
        this.request(true, true);
      }, SETTLE_MS);
    } else {
      if (this.dirtyBase) this.base.paint(transform, size, ratio);
      if (this.dirtyOver) this.over.paint(transform, size, ratio);
      this.painted = transform;
    }
    this.dirtyBase = false;
    this.dirtyOver = false;
    this.stats.baseMs = this.base.costMs;
    this.stats.overlayMs = this.over.costMs;
    this.onPaint(this.stats);
  }

  private request(base: boolean, over: boolean): void {
    this.dirtyBase ||= base;
    this.dirtyOver ||= over;
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.flush());
  }

  private paintBase({ context, transform, size, ratio }: LayerFrame): void {
    if (!this.list) return;
    const palette = paletteOf(this.theme);
    this.stats.links = paint(this.list.batches, { context, palette, transform, size, ratio });
  }

  private paintOver({ context, transform, size, ratio }: LayerFrame): void {
    const palette = paletteOf(this.theme);
    this.stats.selectedLinks = 0;
    if (this.overlay) {
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.globalAlpha = VEIL[this.theme];
      context.fillStyle = palette.tokens.background;
      context.fillRect(0, 0, size.width, size.height);
      context.globalAlpha = 1;
      this.stats.selectedLinks = paint(this.overlay, { context, palette, transform, size, ratio });
    }
    paint(this.marks, { context, palette, transform, size, ratio });
    const outline = this.hover?.outline;
    if (!outline) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.beginPath();
    for (let i = 0; i < outline.length; i += 2) {
      const x = outline[i]! * transform.scale + transform.x;
      const y = outline[i + 1]! * transform.scale + transform.y;
      if (i === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    context.closePath();
    context.setLineDash([]);
    context.lineWidth = 2;
    context.strokeStyle = palette.tokens.hover;
    context.stroke();
  }
}
