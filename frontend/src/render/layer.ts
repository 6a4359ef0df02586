/**
 * One canvas of a picture: painted in full when something changes, moved as a bitmap while a
 * gesture runs.
 */
import type { Size, Transform } from "./transform";

/** A full paint that is faster than this is repeated in every frame of a gesture. */
const CHEAP_MS = 7;

type Context = CanvasRenderingContext2D;

export interface LayerFrame {
  context: Context;
  transform: Transform;
  size: Size;
  ratio: number;
}

export class Layer {
  /** CPU time of the last full paint. */
  costMs = 0;
  private readonly context: Context | null;
  private snapshot: HTMLCanvasElement | null = null;
  private snapshotTransform: Transform | null = null;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly draw: (frame: LayerFrame) => void,
  ) {
    this.context = canvas.getContext("2d");
  }

  resize(size: Size, ratio: number): void {
    const width = Math.max(1, Math.round(size.width * ratio));
    const height = Math.max(1, Math.round(size.height * ratio));
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.snapshotTransform = null;
  }

  /** Paints everything again. */
  paint(transform: Transform, size: Size, ratio: number): void {
    if (!this.context) return;
    const start = performance.now();
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.draw({ context: this.context, transform, size, ratio });
    this.costMs = performance.now() - start;
    this.snapshotTransform = null;
  }

  /**
   * Follows a gesture. Simple pictures are painted again; complex ones are moved as a bitmap.
   * Returns whether a full paint is still needed.
   */
  follow(transform: Transform, painted: Transform, size: Size, ratio: number): boolean {
    if (!this.context) return false;
    if (this.costMs < CHEAP_MS && this.snapshotTransform === null) {
      this.paint(transform, size, ratio);
      return false;
    }
    if (this.snapshotTransform === null) {
      this.snapshot ??= document.createElement("canvas");
      this.snapshot.width = this.canvas.width;
      this.snapshot.height = this.canvas.height;
      this.snapshot.getContext("2d")?.drawImage(this.canvas, 0, 0);
      this.snapshotTransform = painted;
    }
    const from = this.snapshotTransform;
    const k = transform.scale / from.scale;
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.context.setTransform(
      k,
      0,
      0,
      k,
      (transform.x - from.x * k) * ratio,
      (transform.y - from.y * k) * ratio,
    );
    if (this.snapshot) this.context.drawImage(this.snapshot, 0, 0);
    return true;
  }
}
