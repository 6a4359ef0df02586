/**
 * Racks side by side, every unit and every slot of it, seen from the front or the rear. One world
 * unit is 1 U.
 */
import { RACK_UNIT_METRES } from "@/units";
import { addDeviceName } from "./device-name";
import { HitIndex } from "./hit";
import { csrSlice, memoised, type PlanModel } from "./model";
import {
  type Batch,
  type ColourRef,
  type DisplayList,
  LabelBuilder,
  PathBuilder,
  RectBuilder,
} from "./primitives";
import type { Highlight } from "./selection";
import type { Face, ViewOptions } from "./view";

/**
 * Between racks of a line, and between lines, in U; the upper part of the line gap holds nothing,
 * the lower the names.
 */
const RACK_GAP = 3;
/** Up to this number of racks there is space between them for a ruler of units. */
const RULED_RACKS = 2;
const RULED_GAP = 9;
const LINE_GAP = 5;
/** From this number of px per U, the marks of the ruler, which are 5 U apart, do not overlap. */
const RULER_SCALE = 2.6;
/** More cables than this are not drawn between the racks. */
const DRAWN_CABLES = 8;
/** Frame of a rack around its devices. */
const POST = 0.45;

export interface RackPlace {
  rack: number;
  x: number;
  /** Top edge of the highest unit. */
  y: number;
  width: number;
  height: number;
}

export interface ElevationLayout {
  places: readonly RackPlace[];
  /** Between racks of a line, in U. */
  gap: number;
  /** Whether each rack has a ruler of its units at its right. */
  ruled: boolean;
  byRack: ReadonlyMap<number, RackPlace>;
  width: number;
  height: number;
}

/**
 * Racks in reading order, wrapped so that the whole is about as wide as the place it is shown in.
 */
export function elevationLayout(model: PlanModel, options: ViewOptions): ElevationLayout {
  const racks = options.racks ?? Array.from({ length: model.racks.count }, (_, i) => i);
  const aspect = options.aspect ?? 2.4;
  const key = `elevations:${aspect.toFixed(2)}:${racks.join(",")}`;
  return memoised(model, key, () => {
    const widths = racks.map((rack) => model.racks.width[rack]! / RACK_UNIT_METRES);
    const tallest = racks.reduce((most, rack) => Math.max(most, model.racks.units[rack]!), 1);
    const line = tallest + LINE_GAP;
    const ruled = racks.length <= RULED_RACKS;
    const gap = ruled ? RULED_GAP : RACK_GAP;
    const whole = widths.reduce((sum, width) => sum + width + gap, 0);
    // The number of lines that wastes least of the place.
    let lines = 1;
    let best = 0;
    for (let n = 1; n <= racks.length; n++) {
      const scale = Math.min(aspect / (whole / n), 1 / (n * line));
      if (scale > best * 1.02) {
        best = scale;
        lines = n;
      }
    }
    const perLine = Math.ceil(racks.length / lines);
    const places: RackPlace[] = [];
    let [x, y, right] = [0, 0, 0];
    racks.forEach((rack, i) => {
      if (i > 0 && i % perLine === 0) {
        x = 0;
        y += line;
      }
      const height = model.racks.units[rack]!;
      places.push({ rack, x, y: y + tallest - height, width: widths[i]!, height });
      x += widths[i]! + gap;
      right = Math.max(right, x - gap);
    });
    return {
      places,
      gap,
      ruled,
      byRack: new Map(places.map((place) => [place.rack, place])),
      width: right,
      height: y + line,
    };
  });
}

export function deviceBox(
  model: PlanModel,
  device: number,
  place: RackPlace,
  face: Face,
): [x: number, y: number, width: number, height: number] {
  const { unit, heightUnits, slot, slots } = model.devices;
  const across = Math.max(1, slots[device]!);
  const width = (place.width - 2 * POST) / across;
  const column = face === "front" ? slot[device]! : across - 1 - slot[device]!;
  const top = place.y + place.height - (unit[device]! - 1) - heightUnits[device]!;
  return [place.x + POST + column * width, top, width, heightUnits[device]!];
}

export function elevationList(model: PlanModel, options: ViewOptions): DisplayList {
  const face = options.face ?? "front";
  const layout = elevationLayout(model, options);
  const hits = new HitIndex();
  const frames = new RectBuilder();
  const vacant = new RectBuilder();
  const boxes = new RectBuilder();
  const deviceNames = new LabelBuilder();
  const rackNames = new LabelBuilder();
  const levelMarks = new LabelBuilder();
  const lineMarks = new LabelBuilder();
  const leaders = new PathBuilder();
  const unitMarks = new LabelBuilder();
  const ruler = new PathBuilder();
  const rulerMarks = new LabelBuilder();
  let devices = 0;
  for (const place of layout.places) {
    frames.add(place.x, place.y - POST, place.width, place.height + 2 * POST, "rack");
    vacant.add(place.x + POST, place.y, place.width - 2 * POST, place.height, "vacant");
    hits.addBox(
      { kind: "rack", id: place.rack },
      place.x,
      place.y - POST,
      place.width,
      place.height + 2 * POST + 2,
    );
    for (const device of csrSlice(model.rackDevices, place.rack)) {
      const [x, y, width, height] = deviceBox(model, device, place, face);
      const level = model.devices.level[device]!;
      boxes.add(x, y, width, height, level < 0 ? "server" : `level:${level}`);
      hits.addBox({ kind: "device", id: device }, x, y, width, height);
      addDeviceName(deviceNames, model, device, [x, y, width, height]);
      devices++;
    }
    rackNames.add(
      model.racks.names[place.rack]!,
      place.x + place.width / 2,
      place.y + place.height + POST,
      "ink",
      place.width + layout.gap,
    );
    for (const mark of levelPlaces(model, place)) {
      if (place.x > 0) {
        levelMarks.add(mark.text, place.x - 0.35, mark.y, "muted", RACK_GAP - 0.35, mark.units * 1.3);
        continue;
      }
      // Left of a line there is space: marks are spread out there, and a leader connects each to
      // its line.
      lineMarks.add(mark.text, place.x - 1.5, mark.apart, "muted");
      leaders.add(0, place.x - 1.3, mark.apart, place.x - 0.2, mark.y);
    }
    for (const unit of unitsMarked(place.height))
      if (layout.ruled) {
        const y = place.y + place.height - unit + 0.5;
        ruler.add(0, place.x + place.width, y, place.x + place.width + 0.6, y);
        rulerMarks.add(`${unit}`, place.x + place.width + 0.9, y, "muted");
      } else
        unitMarks.add(`${unit}`, place.x - 0.35, place.y + place.height - unit + 0.5, "muted", RACK_GAP, 1);
  }
  return {
    batches: [
      frames.batch({ stroke: { colour: "rackEdge", width: 1 } }),
      vacant.batch(),
      boxes.batch({ insetPx: 0.6 }),
      deviceNames.batch({ sizePx: 11, align: "center", baseline: "middle", overflow: "hide" }),
      levelMarks.batch({ sizePx: 11, weight: 600, align: "right", baseline: "middle", maxScale: 13 }),
      leaders.batch([{ colour: "rackEdge", width: 1 }], { minScale: 3.4, maxScale: 13 }),
      lineMarks.batch({
        sizePx: 11,
        weight: 600,
        align: "right",
        baseline: "middle",
        minScale: 3.4,
        maxScale: 13,
      }),
      unitMarks.batch({ sizePx: 11, align: "right", baseline: "middle", minScale: 13 }),
      ruler.batch([{ colour: "rackEdge", width: 1 }], { minScale: RULER_SCALE }),
      rulerMarks.batch({ sizePx: 11, align: "left", baseline: "middle", minScale: RULER_SCALE }),
      rackNames.batch({ sizePx: 12, weight: 600, align: "center", baseline: "top", offsetPx: [0, 3] }),
    ],
    bounds: {
      x: -RACK_GAP * 2,
      y: -POST * 2,
      width: layout.width + RACK_GAP * (layout.ruled ? 3.6 : 2.6),
      height: layout.height,
    },
    hits,
    drawn: devices,
    total: model.devices.count,
    what: "devices",
  };
}

/** Ranges of units that contain switches of one level only, marked in addition to their colour. */
function levelRuns(model: PlanModel, rack: number): { level: number; from: number; to: number }[] {
  const levels = new Map<number, number>();
  for (const device of csrSlice(model.rackDevices, rack)) {
    const level = model.devices.level[device]!;
    if (level >= 0) levels.set(model.devices.unit[device]!, level);
  }
  const runs: { level: number; from: number; to: number }[] = [];
  for (const [unit, level] of [...levels.entries()].sort(([a], [b]) => a - b)) {
    const last = runs[runs.length - 1];
    if (last && last.level === level && last.to === unit - 1) last.to = unit;
    else runs.push({ level, from: unit, to: unit });
  }
  return runs;
}

/** Least distance of two marks at the left of a line, in U: they are shown from 3.4 px a U on. */
const MARK_STEP = 3.3;

/** The position of the mark of each range: next to it, or `apart` if marks would overlap. */
function levelPlaces(
  model: PlanModel,
  place: RackPlace,
): { text: string; y: number; apart: number; units: number }[] {
  const marks = levelRuns(model, place.rack).map(({ level, from, to }) => {
    const y = place.y + place.height - (from - 1 + to) / 2;
    return { text: `L${level}`, y, apart: y, units: to - from + 1 };
  });
  // From the floor up: each at least a step above the one below.
  for (let i = 1; i < marks.length; i++)
    marks[i]!.apart = Math.min(marks[i]!.y, marks[i - 1]!.apart - MARK_STEP);
  return marks;
}

function unitsMarked(units: number): number[] {
  const marked = [1];
  for (let unit = 5; unit <= units; unit += 5) marked.push(unit);
  return marked;
}

export function elevationOverlay(model: PlanModel, highlight: Highlight, options: ViewOptions): Batch[] {
  const face = options.face ?? "front";
  const layout = elevationLayout(model, options);
  const related = new RectBuilder();
  const selected = new RectBuilder();
  const racks = new RectBuilder();
  const names = new LabelBuilder();
  const wholeRacks = highlight.racks.count() > 0;
  for (const place of layout.places) {
    const main = highlight.racks.has(place.rack);
    if (main || highlight.relatedRacks.has(place.rack)) {
      (main ? racks : related).add(place.x, place.y - POST, place.width, place.height + 2 * POST, "vacant");
    }
  }
  const relatedDevices = new RectBuilder();
  for (const place of layout.places)
    for (const device of csrSlice(model.rackDevices, place.rack)) {
      const main = highlight.devices.has(device);
      if (!main && !highlight.relatedDevices.has(device)) continue;
      const [x, y, width, height] = deviceBox(model, device, place, face);
      const level = model.devices.level[device]!;
      const colour: ColourRef = level < 0 ? "server" : `level:${level}`;
      (main && !wholeRacks ? selected : relatedDevices).add(x, y, width, height, colour);
      addDeviceName(names, model, device, [x, y, width, height]);
    }
  return [
    related.batch({ stroke: { colour: "rackEdge", width: 1 } }),
    racks.batch({ stroke: { colour: "selection", width: 2.5 } }),
    relatedDevices.batch({ insetPx: 0.6 }),
    selected.batch({ stroke: { colour: "selection", width: 2 } }),
    names.batch({ sizePx: 11, align: "center", baseline: "middle" }),
    ...cablesBetween(model, highlight, layout, face),
  ];
}

/** A few selected cables as lines from device to device, with the unit of each end. */
function cablesBetween(model: PlanModel, highlight: Highlight, layout: ElevationLayout, face: Face): Batch[] {
  const lines = new PathBuilder();
  const units = new LabelBuilder();
  const alone = highlight.racks.count() + highlight.devices.count() + highlight.trays.count() === 0;
  const { aDevice, bDevice } = model.cables;
  for (const cable of alone && highlight.cables.length <= DRAWN_CABLES ? highlight.cables : []) {
    const boxes = [aDevice[cable]!, bDevice[cable]!].flatMap((device) => {
      const place = layout.byRack.get(model.devices.rack[device]!);
      if (!place) return [];
      const box = deviceBox(model, device, place, face);
      units.add(`U${model.devices.unit[device]!}`, place.x - 0.6, box[1] + box[3] / 2, "ink");
      return [box];
    });
    const [left, right] = boxes.sort(([a], [b]) => a - b);
    if (left && right) lines.add(0, ...between(left, right));
  }
  return [
    lines.batch([{ colour: "selection", width: 2 }]),
    units.batch({ sizePx: 11, weight: 600, align: "right", baseline: "middle", minScale: RULER_SCALE }),
  ];
}

type Box = ReturnType<typeof deviceBox>;

/**
 * From the right edge of one device to the left edge of the other; if one is above the other,
 * outside around their right edges.
 */
function between([ax, ay, aw, ah]: Box, [bx, by, bw, bh]: Box): number[] {
  const [aMid, bMid] = [ay + ah / 2, by + bh / 2];
  if (ax + aw <= bx) return [ax + aw, aMid, bx, bMid];
  const out = Math.max(ax + aw, bx + bw) + 1;
  return [ax + aw, aMid, out, aMid, out, bMid, bx + bw, bMid];
}
