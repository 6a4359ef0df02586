/**
 * The pipeline of the paper's Fig. 4 [serverswitch §4.1] as boxes and arrows, and which of them a
 * packet lights.
 */
import type { ChipStep, ChipTrace } from "@/api/types";

export type Stage = ChipStep["stage"];

export interface Box {
  stage: Stage;
  label: string;
  x: number;
  y: number;
}

export const BOX_WIDTH = 104;
export const BOX_HEIGHT = 30;
export const WIDTH = 820;
export const HEIGHT = 236;

const COLUMNS = [4, 122, 240, 358, 476, 594, 712];
const ROWS = [8, 54, 100, 146, 192];

const box = (stage: Stage, label: string, column: number, row: number): Box => ({
  stage,
  label,
  x: COLUMNS[column]!,
  y: ROWS[row]!,
});

export const BOXES: readonly Box[] = [
  box("classifier", "Classifier", 0, 2),
  box("ethernet-parser", "Ethernet parser", 1, 0),
  box("ip-parser", "IP parser", 1, 1),
  box("mpls-parser", "MPLS parser", 1, 3),
  box("prog-parser", "Prog. parser", 1, 4),
  box("em-mac", "EM (MAC)", 2, 0),
  box("em-ipv4", "EM (IP)", 2, 1),
  box("lpm", "LPM", 2, 2),
  box("em-mpls", "EM (MPLS)", 2, 3),
  box("tcam", "TCAM", 2, 4),
  box("priority", "Priority", 3, 2),
  box("interface-table", "Interface table", 4, 2),
  box("l3-modifier", "L3 modifier", 5, 1),
  box("l2-modifier", "L2 modifier", 5, 3),
  box("output", "Output", 6, 2),
];

const ARROWS: readonly (readonly [Stage, Stage])[] = [
  ["classifier", "ethernet-parser"],
  ["classifier", "ip-parser"],
  ["classifier", "mpls-parser"],
  ["classifier", "prog-parser"],
  ["ethernet-parser", "em-mac"],
  ["ip-parser", "em-ipv4"],
  ["ip-parser", "lpm"],
  ["mpls-parser", "em-mpls"],
  ["prog-parser", "tcam"],
  ["em-mac", "priority"],
  ["em-ipv4", "priority"],
  ["lpm", "priority"],
  ["em-mpls", "priority"],
  ["tcam", "priority"],
  ["priority", "interface-table"],
  ["interface-table", "l3-modifier"],
  ["l3-modifier", "l2-modifier"],
  ["l2-modifier", "output"],
];

const TABLES: ReadonlySet<Stage> = new Set(["em-mac", "em-ipv4", "lpm", "em-mpls", "tcam"]);

/** `passed`: the packet reached this stage; `matched`: a table had an entry for it. */
export type Light = "passed" | "matched";

/** The stages that a packet lights. */
export function lightsOf(trace: ChipTrace | null): ReadonlyMap<Stage, Light> {
  const lights = new Map<Stage, Light>();
  for (const step of trace?.steps ?? []) lights.set(step.stage, step.entry ? "matched" : "passed");
  return lights;
}

export interface Arrow {
  from: Box;
  to: Box;
  lit: boolean;
}

/** Every arrow; lit where the packet, or a table's result, went along it. */
export function arrowsOf(lights: ReadonlyMap<Stage, Light>): Arrow[] {
  const of = new Map(BOXES.map((box) => [box.stage, box]));
  return ARROWS.map(([from, to]) => {
    const light = lights.get(from);
    const passed = light !== undefined && (!TABLES.has(from) || light === "matched");
    return { from: of.get(from)!, to: of.get(to)!, lit: passed && lights.has(to) };
  });
}

/**
 * From the middle of the right side to the middle of the left one; straight down inside a column.
 */
export function arrowPath({ from, to }: Arrow): string {
  const [x0, y0, x1, y1] = [from.x + BOX_WIDTH, from.y + BOX_HEIGHT / 2, to.x, to.y + BOX_HEIGHT / 2];
  if (from.x === to.x) {
    const x = from.x + BOX_WIDTH / 2;
    return `M${x},${from.y + BOX_HEIGHT}V${to.y}`;
  }
  const middle = (x0 + x1) / 2;
  return `M${x0},${y0}C${middle},${y0} ${middle},${y1} ${x1},${y1}`;
}
