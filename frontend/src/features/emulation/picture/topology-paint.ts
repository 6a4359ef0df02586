/**
 * The live picture on a canvas. Colours and bars are repainted with every tick; the geometry stays.
 */
import type { Palette } from "@/render/resolve";
import { HEAT_CLASSES, heatColour } from "@/scene";
import { FONT_FAMILY, inkOn, levelColour, withAlpha } from "@/units";
import type { Detour } from "../session/detours";
import type { Tick } from "../session/frames";
import { type Broken, type Network, type Node, nodeName, rateOf, type Step } from "../session/network";
import { boxOf, type Layout, pointOn } from "./layouts/layout";

export interface PictureState {
  network: Network;
  layout: Layout;
  tick: Tick | null;
  broken: Broken;
  /** Emphasised nodes and links: the selection, and the targets of a fault being prepared. */
  selectedNodes: readonly Node[];
  selectedLinks: readonly number[];
  /** The current path of the selected flow, and the previous one. */
  path: readonly Step[];
  formerPath: readonly Step[];
  /** Detours around hot racks. */
  detours: readonly Detour[];
  hover: { node: Node } | { link: number } | null;
  injecting: boolean;
}

type Context = CanvasRenderingContext2D;

/**
 * With more links than this, both directions of a link are drawn as one line in the colour of the
 * more loaded one.
 */
const PAIRS_UP_TO = 320;
const APART_PX = 1.9;
const WIDEST = 2.1;

/** 0 for nothing, else 1 to HEAT_CLASSES, by the share of the link's rate. */
export function loadClass(bytes: number, secs: number, rateBitsPerSec: number): number {
  if (bytes <= 0) return 0;
  const share = (bytes * 8) / secs / rateBitsPerSec;
  return 1 + Math.min(HEAT_CLASSES - 1, Math.max(0, Math.floor(share * HEAT_CLASSES)));
}

export function paintPicture(
  context: Context,
  state: PictureState,
  palette: Palette,
  transform: { k: number; x: number; y: number },
  ratio: number,
): void {
  const { width, height } = context.canvas;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(
    ratio * transform.k,
    0,
    0,
    ratio * transform.k,
    ratio * transform.x,
    ratio * transform.y,
  );
  context.lineCap = "round";
  context.lineJoin = "round";
  paintTiers(context, state, palette);
  paintLinks(context, state, palette);
  paintPaths(context, state, palette);
  paintBrokenLinks(context, state, palette);
  paintNodes(context, state, palette, transform.k);
  paintDetours(context, state, palette);
}

function paintTiers(context: Context, { layout }: PictureState, { tokens }: Palette): void {
  context.font = `11px ${FONT_FAMILY}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = tokens.muted;
  for (const { label, y } of layout.tiers) context.fillText(label, 4, y);
  context.strokeStyle = tokens.rack;
  context.lineWidth = 2;
  for (const { label, x, y, width, height, round } of layout.frames) {
    context.beginPath();
    if (round) context.ellipse(x + width / 2, y + height / 2, width / 2, height / 2, 0, 0, 2 * Math.PI);
    else context.roundRect(x, y, width, height, 3);
    context.stroke();
    context.fillText(label, x + 1, round ? y + 8 : y - 10);
  }
}

/**
 * The line of a link, or a line parallel to it: for vertical links on the right, for links that
 * bend around outside also outside, else next to the line from a to b.
 */
function curve(context: Context, { curves, lines, stubs }: Layout, link: number, shiftPx = 0): void {
  const c = curves.subarray(link * 8, link * 8 + 8);
  if (lines === "free") {
    freeCurve(context, c, stubs.has(link), shiftPx);
    return;
  }
  const down = Math.sign(c[7]! - c[1]!);
  const out = Math.sign(c[2]! - c[0]!);
  const sideways = lines === "sideways";
  const [x, y] = sideways ? [0, -shiftPx * 0.6 * down] : [shiftPx, 0];
  const bend = sideways ? shiftPx * 1.3 * out : shiftPx;
  context.moveTo(c[0]! + x, c[1]! + y);
  context.bezierCurveTo(c[2]! + bend, c[3]! + y, c[4]! + bend, c[5]! - y, c[6]! + x, c[7]! - y);
}

function freeCurve(context: Context, c: Float32Array, stub: boolean, shiftPx: number): void {
  // Next to each end, perpendicular to the direction of the line there; handles at the position of
  // their end have no direction.
  const beside = (dx: number, dy: number): [number, number] => {
    const length = Math.hypot(dx, dy);
    return length === 0 ? [0, 0] : [(-dy / length) * shiftPx, (dx / length) * shiftPx];
  };
  const whole = [c[6]! - c[0]!, c[7]! - c[1]!] as const;
  const start = [c[2]! - c[0]!, c[3]! - c[1]!] as const;
  const end = [c[6]! - c[4]!, c[7]! - c[5]!] as const;
  const [ax, ay] = beside(...(Math.hypot(...start) > 0 ? start : whole));
  const [bx, by] = beside(...(Math.hypot(...end) > 0 ? end : whole));
  context.moveTo(c[0]! + ax, c[1]! + ay);
  if (stub) {
    context.lineTo(c[2]! + ax, c[3]! + ay);
    context.moveTo(c[4]! + bx, c[5]! + by);
    context.lineTo(c[6]! + bx, c[7]! + by);
  } else context.bezierCurveTo(c[2]! + ax, c[3]! + ay, c[4]! + bx, c[5]! + by, c[6]! + bx, c[7]! + by);
}

function paintLinks(context: Context, state: PictureState, palette: Palette): void {
  const { network, layout, tick, broken, path } = state;
  const pairs = network.links <= PAIRS_UP_TO;
  const byClass: { link: number; shift: number }[][] = Array.from({ length: HEAT_CLASSES + 1 }, () => []);
  for (let link = 0; link < network.links; link++) {
    if (broken.links.has(link)) continue;
    const [ab, ba] = tick ? [tick.ab[link] ?? 0, tick.ba[link] ?? 0] : [0, 0];
    const [secs, rate] = [tick?.secs ?? 1, rateOf(network, link)];
    if (pairs) {
      byClass[loadClass(ab, secs, rate)]!.push({ link, shift: -APART_PX });
      byClass[loadClass(ba, secs, rate)]!.push({ link, shift: APART_PX });
    } else byClass[loadClass(Math.max(ab, ba), secs, rate)]!.push({ link, shift: 0 });
  }
  context.globalAlpha = path.length > 0 ? 0.28 : 1;
  const base = pairs ? (layout.lines === "sideways" ? 1.1 : 1.4) : 1;
  byClass.forEach((lines, heatClass) => {
    if (lines.length === 0) return;
    context.strokeStyle = palette.colour(heatColour(heatClass));
    context.lineWidth =
      heatClass === 0 ? 1 : base * (1 + ((WIDEST - 1) * (heatClass - 1)) / (HEAT_CLASSES - 1));
    context.setLineDash(heatClass === 0 ? [2, 4] : []);
    context.beginPath();
    for (const { link, shift } of lines) curve(context, layout, link, shift);
    context.stroke();
  });
  context.setLineDash([]);
  context.globalAlpha = 1;
  const { tokens } = palette;
  const marked = (links: Iterable<number>, colour: string, widthPx: number, dash: number[]) => {
    context.strokeStyle = colour;
    context.lineWidth = widthPx;
    context.setLineDash(dash);
    context.beginPath();
    for (const link of links) curve(context, layout, link);
    context.stroke();
    context.setLineDash([]);
  };
  if (broken.degraded.size > 0) marked(broken.degraded.keys(), tokens.warning, 3, [2, 6]);
  if (state.selectedLinks.length > 0)
    marked(state.selectedLinks, withAlpha(state.injecting ? tokens.failed : tokens.selection, 0.9), 5, []);
  if (state.hover && "link" in state.hover)
    marked([state.hover.link], state.injecting ? tokens.failed : tokens.hover, 4, []);
}

function paintBrokenLinks(context: Context, { broken, layout }: PictureState, { tokens }: Palette): void {
  if (broken.links.size === 0) return;
  context.strokeStyle = tokens.failed;
  context.lineWidth = 2;
  context.setLineDash([5, 5]);
  context.beginPath();
  for (const link of broken.links.keys()) curve(context, layout, link);
  context.stroke();
  context.setLineDash([]);
  for (const link of broken.links.keys()) {
    const { x, y } = pointOn(layout, link, 0.5);
    context.fillStyle = tokens.background;
    context.beginPath();
    context.arc(x, y, 8, 0, 2 * Math.PI);
    context.fill();
    context.lineWidth = 2;
    context.stroke();
    cross(context, x, y, 3.2);
  }
}

function cross(context: Context, x: number, y: number, half: number): void {
  context.beginPath();
  context.moveTo(x - half, y - half);
  context.lineTo(x + half, y + half);
  context.moveTo(x + half, y - half);
  context.lineTo(x - half, y + half);
  context.stroke();
}

function paintPaths(context: Context, state: PictureState, { tokens }: Palette): void {
  const { layout } = state;
  if (state.formerPath.length > 0) {
    context.strokeStyle = tokens.muted;
    context.lineWidth = 2.5;
    context.setLineDash([1, 6]);
    context.beginPath();
    for (const { link } of state.formerPath) curve(context, layout, link);
    context.stroke();
    context.setLineDash([]);
  }
  if (state.path.length === 0) return;
  context.strokeStyle = withAlpha(tokens.background, 0.9);
  context.lineWidth = 8;
  context.beginPath();
  for (const { link } of state.path) curve(context, layout, link);
  context.stroke();
  context.strokeStyle = tokens.accent;
  context.lineWidth = 4;
  context.stroke();
  context.fillStyle = tokens.accent;
  for (const { link, forth } of state.path) {
    const { x, y, turn } = pointOn(layout, link, 0.5);
    const [cos, sin] = [Math.cos(forth ? turn : turn + Math.PI), Math.sin(forth ? turn : turn + Math.PI)];
    context.beginPath();
    context.moveTo(x + cos * 9, y + sin * 9);
    context.lineTo(x - cos * 6 - sin * 7, y - sin * 6 + cos * 7);
    context.lineTo(x - cos * 6 + sin * 7, y - sin * 6 - cos * 7);
    context.closePath();
    context.fill();
  }
}

/**
 * Drawn from ToR to ToR over their row, with an arrow at the one that sends up; a part that several
 * detours share is drawn once.
 */
function paintDetours(context: Context, { detours, layout, path }: PictureState, { tokens }: Palette): void {
  if (detours.length === 0) return;
  const parts = new Map<string, readonly [Node, Node]>();
  for (const { tors } of detours)
    for (const [i, to] of tors.slice(1).entries()) parts.set(`${tors[i]} ${to}`, [tors[i]!, to]);
  const ends = new Set(detours.map(({ tors }) => tors.at(-1)));
  context.globalAlpha = path.length > 0 ? 0.4 : 1;
  for (const [from, to] of parts.values()) {
    const [start, end] = [topOf(layout, from), topOf(layout, to)];
    const rise = Math.min(46, 14 + Math.abs(end.x - start.x) * 0.16);
    const handle = { x: (start.x + end.x) / 2, y: Math.min(start.y, end.y) - rise };
    const arc = () => {
      context.beginPath();
      context.moveTo(start.x, start.y);
      context.quadraticCurveTo(handle.x, handle.y, end.x, end.y);
      context.stroke();
    };
    context.setLineDash([]);
    context.strokeStyle = withAlpha(tokens.background, 0.9);
    context.lineWidth = 5;
    arc();
    context.setLineDash(DETOUR_DASH);
    context.strokeStyle = tokens.ink;
    context.lineWidth = 2;
    arc();
    context.setLineDash([]);
    if (ends.has(to)) {
      context.fillStyle = tokens.ink;
      arrowHead(context, end, Math.atan2(end.y - handle.y, end.x - handle.x));
    }
  }
  context.globalAlpha = 1;
}

/** As in the legend. */
export const DETOUR_DASH = [7, 4];

const topOf = (layout: Layout, node: Node): { x: number; y: number } => {
  const { x, y, width } = boxOf(layout, node);
  return { x: x + width / 2, y };
};

function arrowHead(context: Context, { x, y }: { x: number; y: number }, turn: number): void {
  const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - cos * 9 - sin * 4.5, y - sin * 9 + cos * 4.5);
  context.lineTo(x - cos * 9 + sin * 4.5, y - sin * 9 - cos * 4.5);
  context.closePath();
  context.fill();
}

function paintNodes(context: Context, state: PictureState, palette: Palette, zoom: number): void {
  const { network, layout, tick, broken } = state;
  const { tokens } = palette;
  const onPath = new Set<Node>(state.path.flatMap(({ link }) => [network.a[link]!, network.b[link]!]));
  context.textAlign = "center";
  context.textBaseline = "middle";
  // Names keep their size at any zoom, so that zooming in shows more of them.
  const namePx = 11 / zoom;
  const nodes = network.servers + network.switches;
  for (let node = 0; node < nodes; node++) {
    const { x, y, width, height } = boxOf(layout, node);
    const level = network.level[node]!;
    const dead = broken.nodes.has(node);
    const fill = dead ? tokens.background : level < 0 ? tokens.panel : levelColour(tokens, level);
    context.beginPath();
    context.roundRect(x, y, width, height, Math.min(5, width / 3));
    // Dimmed nodes still hide the cables behind them; failed nodes are never dimmed.
    context.globalAlpha = 1;
    context.fillStyle = tokens.background;
    context.fill();
    context.globalAlpha = state.path.length > 0 && !onPath.has(node) && !dead ? 0.45 : 1;
    context.fillStyle = fill;
    context.fill();
    const hovered = state.hover && "node" in state.hover && state.hover.node === node;
    const selected = state.selectedNodes.includes(node);
    context.strokeStyle = dead
      ? tokens.failed
      : selected
        ? state.injecting
          ? tokens.failed
          : tokens.selection
        : hovered
          ? state.injecting
            ? tokens.failed
            : tokens.hover
          : onPath.has(node)
            ? tokens.accent
            : level < 0
              ? tokens.serverEdge
              : fill;
    context.lineWidth = dead || selected || hovered || onPath.has(node) ? 2.5 : 1;
    context.setLineDash(dead ? [4, 3] : []);
    context.stroke();
    context.setLineDash([]);
    if (level < 0 && tick && !dead) paintMeter(context, state, tick, node, tokens);
    const name = nodeName(network, node);
    const flat = level < 0 && isFlat(layout);
    if ((flat ? width * METER_LEFT : width) * zoom > name.length * 6.4 + 2 && height * zoom >= NAME_PX) {
      context.font = `${level < 0 ? 600 : 500} ${namePx}px ${FONT_FAMILY}`;
      context.fillStyle = dead ? tokens.failed : level < 0 ? tokens.ink : inkOn(fill);
      const middle = flat ? (width * METER_LEFT) / 2 : width / 2;
      context.fillText(
        name,
        x + middle,
        y + height / 2 + (level < 0 && !flat ? -Math.min(4, height * 0.1) : 0.5),
      );
    }
    if (dead) {
      context.strokeStyle = tokens.failed;
      context.lineWidth = 2;
      cross(context, x + width, y, 4);
    }
  }
  context.globalAlpha = 1;
}

/** Height of a name, which its box must have, in pixels on the screen. */
const NAME_PX = 10;
/** If a server is drawn flat in its rack, its meter is next to its name. */
const METER_LEFT = 0.45;
const isFlat = (layout: Layout) => layout.lines === "sideways";

/**
 * Draws the received traffic of a server and, above it, the relayed traffic, relative to the
 * capacity of its links.
 */
function paintMeter(
  context: Context,
  { network, layout }: PictureState,
  tick: Tick,
  node: Node,
  tokens: Palette["tokens"],
): void {
  const { x, y, width, height } = boxOf(layout, node);
  const most = network.linksOf[node]!.reduce((sum, link) => sum + rateOf(network, link), 0) * tick.secs || 1;
  const received = Math.min(1, (tick.received[node]! * 8) / most);
  const both = Math.min(1, received + (tick.relayed[node]! * 8) / most);
  const lying = width > 18;
  const bar = (share: number) => {
    if (isFlat(layout)) {
      const thick = Math.min(5, height * 0.5);
      const space = width * (1 - METER_LEFT) - 4;
      context.fillRect(x + width * METER_LEFT, y + (height - thick) / 2, space * share, thick);
    } else if (lying)
      context.fillRect(
        x + 4,
        y + height - Math.min(9, height * 0.3),
        (width - 8) * share,
        Math.min(4, height * 0.15),
      );
    else context.fillRect(x + 1.5, y + height - 2 - (height - 4) * share, width - 3, (height - 4) * share);
  };
  if (lying) {
    context.fillStyle = tokens.border;
    bar(1);
  }
  context.fillStyle = withAlpha(tokens.accent, 0.45);
  bar(both);
  context.fillStyle = tokens.accent;
  bar(received);
}
