/**
 * Faults over the floor plan: every cut or degraded cable that leaves its rack is drawn as a
 * separate line with a mark, however other cables are drawn; faults inside a rack are marked in
 * front of that rack [ours].
 */
import { cablePathOf } from "./cable-lines";
import { rackBox } from "./floor";
import { HitIndex, type HitItem } from "./hit";
import { cableRacks, type PlanModel } from "./model";
import {
  type BadgeBatch,
  type Batch,
  type ColourRef,
  CROSS,
  Floats,
  PathBuilder,
  type StrokeStyle,
} from "./primitives";
import { bundlesOfTray, idsOfItem } from "./selection";

/** By cable or device, what happened to it in a few words: "cable pulled". */
export interface Struck {
  /** Cables that carry nothing. */
  cut: ReadonlyMap<number, string>;
  /** Cables that carry less, lose some or take longer. */
  degraded: ReadonlyMap<number, string>;
  /** Failed servers and switches. */
  dead: ReadonlyMap<number, string>;
}

export interface StruckMarks {
  batches: readonly Batch[];
  /** Marks and lines, which are searched before the picture below them. */
  hits: HitIndex;
}

/**
 * More marks of one kind than this lie on each other: a pair of racks then has one, with a number.
 */
const MOST_OWN_MARKS = 40;
const BADGE_PX = 14;
const BEFORE_FRONT_METRES = 0.15;
/**
 * Marks of adjacent cables are at different positions along their paths: from a quarter to three
 * quarters.
 */
const GOLDEN = 0.618034;
/**
 * Strokes of degraded and of cut cables, and their ground, by which they stand out from the cables
 * around them.
 */
const STROKES: readonly StrokeStyle[] = [
  { colour: "warning", width: 3, dashPx: [2, 6] },
  { colour: "failed", width: 2, dashPx: [5, 4] },
];
const GROUND = STROKES.map((): StrokeStyle => ({ colour: "background", width: 6 }));
/** Up to this number of names are listed, the rest is counted. */
const MOST_NAMES = 4;

interface RackMarks {
  dead: number[];
  cut: number[];
  degraded: number[];
}

export function floorMarks(model: PlanModel, { cut, degraded, dead }: Struck): StruckMarks {
  const hits = new HitIndex();
  const lines = new PathBuilder();
  const rings = { cut: new Badges(hits), degraded: new Badges(hits) };
  const squares = new Badges(hits);
  const inRack = new Map<number, RackMarks>();
  const marksOf = (rack: number) => {
    const marks = inRack.get(rack) ?? { dead: [], cut: [], degraded: [] };
    inRack.set(rack, marks);
    return marks;
  };
  for (const device of dead.keys()) marksOf(model.devices.rack[device]!).dead.push(device);
  // The worse is painted last: a cable may be slow and cut.
  for (const [how, cables] of [
    ["degraded", [...degraded.keys()].filter((cable) => !cut.has(cable))],
    ["cut", [...cut.keys()]],
  ] as const) {
    const leaving: number[] = [];
    for (const cable of cables) {
      const [a, b] = cableRacks(model, cable);
      if (a === b) marksOf(a)[how].push(cable);
      else leaving.push(cable);
    }
    const paths = leaving.map((cable) => {
      const path = cablePathOf(model, cable);
      lines.add(how === "cut" ? 1 : 0, ...path);
      for (let i = 2; i < path.length; i += 2)
        hits.addSegment({ kind: "cable", id: cable }, path[i - 2]!, path[i - 1]!, path[i]!, path[i + 1]!);
      return path;
    });
    for (const { first, members } of markedTogether(model, leaving)) {
      const at = pointOf(paths[first]!, 0.25 + 0.5 * ((0.5 + first * GOLDEN) % 1));
      const cable = leaving[first]!;
      const bundle = model.cables.bundle[cable]!;
      const item: HitItem =
        members > 1 && bundle >= 0 ? { kind: "bundle", id: bundle } : { kind: "cable", id: cable };
      rings[how].add(at, textOf(how, members), item);
    }
  }
  for (const [rack, marks] of inRack) {
    const kinds = (["dead", "cut", "degraded"] as const).filter((kind) => marks[kind].length > 0);
    kinds.forEach((kind, place) => {
      const [only, ...more] = marks[kind];
      const item: HitItem =
        more.length > 0
          ? { kind: "rack", id: rack }
          : { kind: kind === "dead" ? "device" : "cable", id: only! };
      const badges = kind === "dead" ? squares : rings[kind];
      badges.add(frontPoint(model, rack, place, kinds.length), textOf(kind, marks[kind].length), item);
    });
  }
  return {
    batches: [
      lines.batch(GROUND, { alpha: 0.85 }),
      lines.batch(STROKES),
      rings.degraded.batch("ring", "warning"),
      rings.cut.batch("ring", "failed"),
      squares.batch("square", "failed"),
    ],
    hits,
  };
}

/**
 * A number for several; for one, a cross if it has failed and an exclamation mark if it is
 * degraded.
 */
const textOf = (how: keyof RackMarks, members: number) =>
  members > 1 ? String(members) : how === "degraded" ? "!" : CROSS;

/** Which cables have a mark: each its own, or the first of each pair of racks for all of it. */
function markedTogether(
  model: PlanModel,
  cables: readonly number[],
): Iterable<{ first: number; members: number }> {
  if (cables.length <= MOST_OWN_MARKS) return cables.map((_, first) => ({ first, members: 1 }));
  const pairs = new Map<string, { first: number; members: number }>();
  cables.forEach((cable, place) => {
    const key = cableRacks(model, cable)
      .sort((a, b) => a - b)
      .join(" ");
    const pair = pairs.get(key);
    if (pair) pair.members += 1;
    else pairs.set(key, { first: place, members: 1 });
  });
  return pairs.values();
}

/** The point of a polyline at a share of its length. */
function pointOf(path: readonly number[], share: number): [x: number, y: number] {
  const lengthAt = (i: number) => Math.hypot(path[i]! - path[i - 2]!, path[i + 1]! - path[i - 1]!);
  let left = 0;
  for (let i = 2; i < path.length; i += 2) left += lengthAt(i);
  left *= share;
  for (let i = 2; i < path.length; i += 2) {
    const length = lengthAt(i);
    if (left > length && i + 2 < path.length) {
      left -= length;
      continue;
    }
    const along = length > 0 ? Math.min(1, left / length) : 0;
    return [
      path[i - 2]! + along * (path[i]! - path[i - 2]!),
      path[i - 1]! + along * (path[i + 1]! - path[i - 1]!),
    ];
  }
  return [path[0] ?? 0, path[1] ?? 0];
}

/** Before a rack's front, side by side: there they hide no name. */
function frontPoint(model: PlanModel, rack: number, place: number, places: number): [x: number, y: number] {
  const { x, y, width, height } = rackBox(model, rack);
  const north = model.racks.facesNorth[rack] === 1;
  return [
    x + (width * (place + 0.5)) / places,
    north ? y - BEFORE_FRONT_METRES : y + height + BEFORE_FRONT_METRES,
  ];
}

class Badges {
  private readonly texts: string[] = [];
  private readonly anchors = new Floats();

  constructor(private readonly hits: HitIndex) {}

  add([x, y]: readonly [number, number], text: string, item: HitItem): void {
    this.texts.push(text);
    this.anchors.push(x, y);
    // A point: within reach of the pointer at any zoom.
    this.hits.addSegment(item, x, y, x, y);
  }

  batch(shape: BadgeBatch["shape"], colour: ColourRef): BadgeBatch {
    return {
      kind: "badges",
      texts: this.texts,
      anchors: this.anchors.done(),
      shape,
      sizePx: BADGE_PX,
      colour,
    };
  }
}

/**
 * The faults of an item, as lines: for a cable or a device its own fault, for others the names of
 * all failed parts.
 */
export function describeStruck(model: PlanModel, { cut, degraded, dead }: Struck, item: HitItem): string[] {
  const has = membership(model, item);
  const cableText = ([cable, why]: [number, string]) => {
    const { aDevice, bDevice } = model.cables;
    const name = `${model.devices.names[aDevice[cable]!]}/${model.devices.names[bDevice[cable]!]}`;
    return item.kind === "cable" ? why : `${name} (${why})`;
  };
  const deviceText = ([device, why]: [number, string]) =>
    item.kind === "device" ? why : `${model.devices.names[device]} (${why})`;
  const gone = [
    ...[...dead].filter(([device]) => has.device(device)).map(deviceText),
    ...[...cut].filter(([cable]) => has.cable(cable)).map(cableText),
  ];
  const worse = [...degraded].filter(([cable]) => !cut.has(cable) && has.cable(cable)).map(cableText);
  return [...lineOf("Failed", gone), ...lineOf("Degraded", worse)];
}

function lineOf(title: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length - MOST_NAMES;
  return [`${title}: ${names.slice(0, MOST_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`];
}

/** Which cables and devices belong to an item. */
function membership(
  model: PlanModel,
  item: HitItem,
): { cable: (cable: number) => boolean; device: (device: number) => boolean } {
  const { kind, id } = item;
  const own = idsOfItem(model, item);
  const { cables, devices } = model;
  const none = () => false;
  switch (kind) {
    case "cable":
      return { cable: (cable) => cable === id, device: none };
    case "device":
      return {
        cable: (cable) => cables.aDevice[cable] === id || cables.bDevice[cable] === id,
        device: (device) => device === id,
      };
    case "rack":
      return {
        cable: (cable) => cableRacks(model, cable).includes(id),
        device: (device) => devices.rack[device] === id,
      };
    case "bundle":
      return { cable: (cable) => own.includes(cables.bundle[cable]!), device: none };
    case "tray": {
      const bundles = new Set(bundlesOfTray(model, id));
      return { cable: (cable) => bundles.has(cables.bundle[cable]!), device: none };
    }
    case "level":
      return {
        cable: (cable) => cables.level[cable] === id,
        device: (device) => devices.level[device] === id,
      };
    case "group":
      return { cable: none, device: (device) => model.racks.group[devices.rack[device]!] === id };
  }
}
