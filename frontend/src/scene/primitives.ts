/**
 * The elements of a view: batches of rectangles, paths, polygons and labels in world coordinates,
 * as typed arrays. Colours are names, not values, so that one list serves both themes, the screen
 * and the printed page; level of detail is a range of scales on a batch, so that zooming needs no
 * new list.
 */
import type { ThemeTokens } from "@/units";
import type { HitIndex } from "./hit";
import type { Box } from "./model";

export type TokenName = Exclude<keyof ThemeTokens, "levels">;

/**
 * A theme token, a level's colour, a step of the ramp (calm for areas, full for lines), or text
 * that reads on either.
 */
export type ColourRef =
  | TokenName
  | `level:${number}`
  | `ramp:${number}`
  | `heat:${number}`
  | `onheat:${number}`
  | `onramp:${number}`
  | `onlevel:${number}`;

/** Shown while `minScale <= scale < maxScale`, in CSS pixels a world unit. */
export interface Visibility {
  minScale?: number;
  maxScale?: number;
}

export interface StrokeStyle {
  colour: ColourRef;
  /** Width in CSS pixels for any zoom, or in world units if `world` is set. */
  width: number;
  world?: boolean;
  dashPx?: readonly number[];
}

export interface RectBatch extends Visibility {
  kind: "rects";
  /** x, y, width, height of each. */
  boxes: Float32Array;
  /** Index into `palette` of each; absent when all have the first. Sorted runs paint fastest. */
  colours?: Uint16Array;
  palette: readonly ColourRef[];
  stroke?: StrokeStyle;
  /** Left free on every side, so that neighbours stay apart at any zoom. */
  insetPx?: number;
  alpha?: number;
  /** Draws the outline only. */
  hollow?: boolean;
  /** Ellipses in the boxes. */
  round?: boolean;
}

export interface PathBatch extends Visibility {
  kind: "paths";
  /** Points as x, y pairs. */
  points: Float32Array;
  /** Path i is points starts[i] .. starts[i + 1], counted in pairs. */
  starts: Uint32Array;
  styles?: Uint8Array;
  strokes: readonly StrokeStyle[];
  /** "cubic": start, two handles, end. */
  shape: "line" | "cubic";
  alpha?: number;
  /** Its paths are single links: the painter reports the number of drawn ones, for "N of M". */
  counted?: boolean;
}

export interface PolygonBatch extends Visibility {
  kind: "polygons";
  points: Float32Array;
  starts: Uint32Array;
  colours: Uint16Array;
  palette: readonly ColourRef[];
  /** Darkening of each face, 0..1, for solids. */
  shades?: Float32Array;
  stroke?: StrokeStyle;
  alpha?: number;
}

export interface LabelBatch extends Visibility {
  kind: "labels";
  texts: readonly string[];
  /** x, y of each anchor. */
  anchors: Float32Array;
  /** Room in world units, width and height; a label that does not fit is shortened or left out. */
  space?: Float32Array;
  overflow?: "hide" | "ellipsis";
  sizePx: number;
  weight?: 400 | 600 | 700;
  align?: "left" | "center" | "right";
  baseline?: "top" | "middle" | "bottom";
  colours?: Uint16Array;
  palette: readonly ColourRef[];
  offsetPx?: readonly [dx: number, dy: number];
  /** Clockwise turn in degrees. */
  turn?: number;
  /** A halo of this colour, or of a colour that contrasts with the text, for text over lines. */
  halo?: ColourRef | "contrast";
}

/**
 * Small signs with the same size at any zoom: a ring or a square on the ground's colour with a
 * character or a number.
 */
export interface BadgeBatch extends Visibility {
  kind: "badges";
  texts: readonly string[];
  /** x, y of each middle. */
  anchors: Float32Array;
  shape: "ring" | "square";
  /** From edge to edge; a longer text makes it wider. */
  sizePx: number;
  colour: ColourRef;
}

export type Batch = RectBatch | PathBatch | PolygonBatch | LabelBatch | BadgeBatch;

/** How wide a badge is with its text. */
export const badgeWidthPx = ({ sizePx }: BadgeBatch, text: string) =>
  sizePx + Math.max(0, text.length - 2) * sizePx * 0.45;

/** Size of a badge's text. */
export const badgeTextPx = ({ sizePx }: BadgeBatch) => Math.round(sizePx * 0.7);

/** As the text of a badge it is drawn as two strokes, each arm this share of the badge's size. */
export const CROSS = "\u00d7";
export const CROSS_ARM = 0.2;

export interface DisplayList {
  batches: readonly Batch[];
  bounds: Box;
  hits: HitIndex;
  /** "N of M", always: how many links of how many this list draws one by one. */
  drawn: number;
  total: number;
  /** The counted items: "cables", "links", "rack pairs". */
  what: string;
}

/** A Float32Array that grows. */
export class Floats {
  private data = new Float32Array(256);
  length = 0;

  push(...values: number[]): void {
    if (this.length + values.length > this.data.length) {
      const grown = new Float32Array(Math.max(this.data.length * 2, this.length + values.length));
      grown.set(this.data);
      this.data = grown;
    }
    for (let i = 0; i < values.length; i++) this.data[this.length++] = values[i]!;
  }

  done(): Float32Array {
    return this.data.slice(0, this.length);
  }
}

/** Collects rectangles by colour and gives them back sorted by colour. */
export class RectBuilder {
  private readonly boxes = new Floats();
  private readonly colours: number[] = [];
  private readonly palette: ColourRef[] = [];
  private readonly indices = new Map<ColourRef, number>();

  get count(): number {
    return this.colours.length;
  }

  add(x: number, y: number, width: number, height: number, colour: ColourRef): void {
    this.boxes.push(x, y, width, height);
    let index = this.indices.get(colour);
    if (index === undefined) {
      index = this.palette.length;
      this.indices.set(colour, index);
      this.palette.push(colour);
    }
    this.colours.push(index);
  }

  batch(options: Omit<Partial<RectBatch>, "kind" | "boxes" | "colours" | "palette"> = {}): RectBatch {
    const order = this.colours.map((_, i) => i).sort((a, b) => this.colours[a]! - this.colours[b]! || a - b);
    const raw = this.boxes.done();
    const boxes = new Float32Array(raw.length);
    order.forEach((from, to) => {
      boxes.set(raw.subarray(from * 4, from * 4 + 4), to * 4);
    });
    return {
      kind: "rects",
      boxes,
      colours: Uint16Array.from(order, (i) => this.colours[i]!),
      palette: this.palette.length > 0 ? this.palette : ["rack"],
      ...options,
    };
  }
}

/** Collects paths with an index into the batch's strokes. */
export class PathBuilder {
  private readonly points = new Floats();
  private readonly starts: number[] = [0];
  private readonly styles: number[] = [];

  get count(): number {
    return this.styles.length;
  }

  add(style: number, ...xy: number[]): void {
    this.points.push(...xy);
    this.starts.push(this.points.length / 2);
    this.styles.push(style);
  }

  batch(strokes: readonly StrokeStyle[], options: Partial<Omit<PathBatch, "kind">> = {}): PathBatch {
    return {
      kind: "paths",
      points: this.points.done(),
      starts: Uint32Array.from(this.starts),
      styles: Uint8Array.from(this.styles),
      strokes,
      shape: "line",
      ...options,
    };
  }
}

/** Collects labels that share a type size and an anchor rule. */
export class LabelBuilder {
  private readonly texts: string[] = [];
  private readonly anchors = new Floats();
  private readonly space = new Floats();
  private readonly colours: number[] = [];
  private readonly palette: ColourRef[] = [];

  add(
    text: string,
    x: number,
    y: number,
    colour: ColourRef,
    spaceWidth = Infinity,
    spaceHeight = Infinity,
  ): void {
    this.texts.push(text);
    this.anchors.push(x, y);
    this.space.push(spaceWidth, spaceHeight);
    let index = this.palette.indexOf(colour);
    if (index < 0) index = this.palette.push(colour) - 1;
    this.colours.push(index);
  }

  batch(
    options: Omit<LabelBatch, "kind" | "texts" | "anchors" | "space" | "colours" | "palette">,
  ): LabelBatch {
    return {
      kind: "labels",
      texts: this.texts,
      anchors: this.anchors.done(),
      space: this.space.done(),
      colours: Uint16Array.from(this.colours),
      palette: this.palette.length > 0 ? this.palette : ["ink"],
      ...options,
    };
  }
}
