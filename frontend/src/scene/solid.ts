/**
 * The container as solids in parallel projection, far racks first. y counts downwards as on the
 * floor plan.
 */
import { RACK_UNIT_METRES } from "@/units";
import { colourScale } from "./encoding";
import { trayRibbons } from "./floor";
import { HitIndex } from "./hit";
import { type Box, csrSlice, type PlanModel } from "./model";
import {
  type Batch,
  type ColourRef,
  type DisplayList,
  Floats,
  LabelBuilder,
  PathBuilder,
  type PolygonBatch,
} from "./primitives";
import type { Highlight } from "./selection";
import type { ViewOptions } from "./view";

export const DEFAULT_ORBIT = { turn: -28, tilt: 34 };
/** Share of the rack's height below its first unit. */
const PLINTH_METRES = 0.05;
const SIDE_SHADE = 0.22;
const FRONT_SHADE = 0.06;

type Project = (x: number, y: number, z: number) => [x: number, y: number, depth: number];

function projection(model: PlanModel, orbit: { turn: number; tilt: number }): Project {
  const [turn, tilt] = [(orbit.turn * Math.PI) / 180, (orbit.tilt * Math.PI) / 180];
  const [c, s, sinTilt, cosTilt] = [Math.cos(turn), Math.sin(turn), Math.sin(tilt), Math.cos(tilt)];
  const [mx, my] = [model.floor.x + model.floor.width / 2, model.floor.y + model.floor.height / 2];
  return (x, y, z) => {
    const [dx, dy] = [x - mx, y - my];
    const depth = dx * s + dy * c;
    return [dx * c - dy * s, depth * sinTilt - z * cosTilt, depth];
  };
}

class PolygonBuilder {
  private readonly points = new Floats();
  private readonly starts = [0];
  private readonly colours: number[] = [];
  private readonly shades: number[] = [];
  private readonly palette: ColourRef[] = [];

  add(xy: readonly number[], colour: ColourRef, shade: number): void {
    this.points.push(...xy);
    this.starts.push(this.points.length / 2);
    let index = this.palette.indexOf(colour);
    if (index < 0) index = this.palette.push(colour) - 1;
    this.colours.push(index);
    this.shades.push(shade);
  }

  batch(options: Partial<PolygonBatch>): PolygonBatch {
    return {
      kind: "polygons",
      points: this.points.done(),
      starts: Uint32Array.from(this.starts),
      colours: Uint16Array.from(this.colours),
      shades: Float32Array.from(this.shades),
      palette: this.palette.length > 0 ? this.palette : ["rack"],
      ...options,
    };
  }
}

interface Side {
  normal: readonly [number, number];
  /** Corners in plan, left to right. */
  from: readonly [number, number];
  to: readonly [number, number];
}

function rackHeight(model: PlanModel, rack: number): number {
  return model.racks.units[rack]! * RACK_UNIT_METRES + PLINTH_METRES + 0.03;
}

function sidesOf(model: PlanModel, rack: number): Side[] {
  const { x, y, width, depth } = model.racks;
  const [x0, x1] = [x[rack]! - width[rack]! / 2 + 0.01, x[rack]! + width[rack]! / 2 - 0.01];
  const [y0, y1] = [y[rack]! - depth[rack]! / 2, y[rack]! + depth[rack]! / 2];
  return [
    { normal: [0, 1], from: [x0, y1], to: [x1, y1] },
    { normal: [0, -1], from: [x1, y0], to: [x0, y0] },
    { normal: [1, 0], from: [x1, y1], to: [x1, y0] },
    { normal: [-1, 0], from: [x0, y0], to: [x0, y1] },
  ];
}

export function solidList(model: PlanModel, options: ViewOptions): DisplayList {
  const orbit = options.orbit ?? DEFAULT_ORBIT;
  const project = projection(model, orbit);
  const turn = (orbit.turn * Math.PI) / 180;
  const scale = colourScale(model, options.colourBy);
  const hits = new HitIndex();
  const solids = new PolygonBuilder();
  const labels = new LabelBuilder();
  const order = Array.from({ length: model.racks.count }, (_, rack) => rack)
    .map((rack) => ({ rack, depth: project(model.racks.x[rack]!, model.racks.y[rack]!, 0)[2] }))
    .sort((a, b) => a.depth - b.depth || a.rack - b.rack);
  for (const { rack } of order) {
    const top = rackHeight(model, rack);
    for (const side of sidesOf(model, rack)) {
      const towards = side.normal[0] * Math.sin(turn) + side.normal[1] * Math.cos(turn);
      if (towards <= 0.01) continue;
      const quad = sideQuad(project, side, 0, 1, 0, top);
      const face = side.normal[1] !== 0;
      solids.add(quad, face ? "rack" : scale.colourOf(rack), face ? FRONT_SHADE : SIDE_SHADE);
      hits.addPolygon({ kind: "rack", id: rack }, quad);
      if (face) addBands(model, rack, side, project, solids);
    }
    const roof = roofQuad(model, rack, top, project);
    solids.add(roof, scale.colourOf(rack), 0);
    hits.addPolygon({ kind: "rack", id: rack }, roof);
    const { x, y, width } = model.racks;
    const [lx, ly] = project(x[rack]!, y[rack]!, top);
    labels.add(model.racks.names[rack]!, lx, ly, scale.inkOf(rack), width[rack]! * 0.9);
  }
  return {
    batches: [
      floorPolygon(model, project),
      frame(model, project, "back", turn),
      solids.batch({ stroke: { colour: "rackEdge", width: 0.5 } }),
      ...trayPolygons(model, project),
      labels.batch({ sizePx: 11, weight: 600, align: "center", baseline: "middle", overflow: "hide" }),
      frame(model, project, "front", turn),
    ],
    bounds: boundsOf(model, project),
    hits,
    drawn: model.racks.count,
    total: model.racks.count,
    what: "racks",
  };
}

function sideQuad(project: Project, side: Side, u0: number, u1: number, z0: number, z1: number): number[] {
  const at = (u: number): [number, number] => [
    side.from[0] + (side.to[0] - side.from[0]) * u,
    side.from[1] + (side.to[1] - side.from[1]) * u,
  ];
  const [a, b] = [at(u0), at(u1)];
  const corners = [project(...a, z0), project(...b, z0), project(...b, z1), project(...a, z1)];
  return corners.flatMap((corner) => corner.slice(0, 2));
}

function roofQuad(model: PlanModel, rack: number, top: number, project: Project): number[] {
  const { x, y, width, depth } = model.racks;
  const [w, d] = [width[rack]! / 2 - 0.01, depth[rack]! / 2];
  return [
    [-w, -d],
    [w, -d],
    [w, d],
    [-w, d],
  ].flatMap(([dx, dy]) => project(x[rack]! + dx!, y[rack]! + dy!, top).slice(0, 2));
}

/** Units that hold devices of one level, as bands on the faces of the rack. */
function addBands(
  model: PlanModel,
  rack: number,
  side: Side,
  project: Project,
  solids: PolygonBuilder,
): void {
  const units = new Map<number, number>();
  for (const device of csrSlice(model.rackDevices, rack)) {
    const height = Math.max(1, Math.round(model.devices.heightUnits[device]!));
    for (let i = 0; i < height; i++) units.set(model.devices.unit[device]! + i, model.devices.level[device]!);
  }
  const sorted = [...units.entries()].sort(([a], [b]) => a - b);
  let start = 0;
  for (let i = 1; i <= sorted.length; i++) {
    const [unit, level] = sorted[start]!;
    const next = sorted[i];
    if (next && next[1] === level && next[0] === unit + (i - start)) continue;
    const z0 = PLINTH_METRES + (unit - 1) * RACK_UNIT_METRES;
    const z1 = PLINTH_METRES + sorted[i - 1]![0] * RACK_UNIT_METRES;
    solids.add(
      sideQuad(project, side, 0.07, 0.93, z0, z1),
      level < 0 ? "server" : `level:${level}`,
      FRONT_SHADE,
    );
    start = i;
  }
}

function trayPolygons(model: PlanModel, project: Project): Batch[] {
  const { trays } = model.scene;
  const ribbons = new PolygonBuilder();
  for (let tray = 0; tray < model.trayCount; tray++) {
    const [x0, y0, x1, y1, z] = [
      trays.x0_metres[tray]!,
      trays.y0_metres[tray]!,
      trays.x1_metres[tray]!,
      trays.y1_metres[tray]!,
      trays.z_metres[tray]!,
    ];
    const flat = Math.abs(x1 - x0) >= Math.abs(y1 - y0);
    for (const { level, offset, width } of trayRibbons(model, tray)) {
      const corners: [number, number][] = flat
        ? [
            [x0, y0 + offset],
            [x1, y1 + offset],
            [x1, y1 + offset + width],
            [x0, y0 + offset + width],
          ]
        : [
            [x0 + offset, y0],
            [x0 + offset + width, y0],
            [x1 + offset + width, y1],
            [x1 + offset, y1],
          ];
      ribbons.add(
        corners.flatMap(([x, y]) => project(x, y, z).slice(0, 2)),
        `level:${level}`,
        0,
      );
    }
  }
  return [ribbons.batch({ alpha: 0.9 })];
}

function corners(model: PlanModel): { plan: [number, number][]; height: number } {
  const { enclosure } = model.scene;
  const [l, w] = [enclosure.length_metres, enclosure.width_metres];
  return {
    plan: [
      [0, 0],
      [l, 0],
      [l, w],
      [0, w],
    ],
    height: enclosure.height_metres,
  };
}

function floorPolygon(model: PlanModel, project: Project): Batch {
  const floor = new PolygonBuilder();
  floor.add(
    corners(model).plan.flatMap(([x, y]) => project(x, y, 0).slice(0, 2)),
    "well",
    0,
  );
  return floor.batch({ stroke: { colour: "rule", width: 1.5 } });
}

/**
 * Edges of the enclosure: those behind the racks before them, those in front after them and
 * fainter.
 */
function frame(model: PlanModel, project: Project, part: "back" | "front", turn: number): Batch {
  const lines = new PathBuilder();
  if (model.scene.enclosure.kind !== "rows") {
    const { plan, height } = corners(model);
    plan.forEach(([x, y], i) => {
      const [nx, ny] = plan[(i + 1) % 4]!;
      const normal: [number, number] = [
        ny - y === 0 ? 0 : Math.sign(ny - y),
        nx - x === 0 ? 0 : -Math.sign(nx - x),
      ];
      const facing = normal[0] * Math.sin(turn) + normal[1] * Math.cos(turn) > 0;
      if (facing !== (part === "front")) return;
      for (const [a, b] of [
        [project(x, y, 0), project(x, y, height)],
        [project(x, y, height), project(nx, ny, height)],
        [project(nx, ny, height), project(nx, ny, 0)],
      ] as const)
        lines.add(0, a[0], a[1], b[0], b[1]);
    });
  }
  return lines.batch([{ colour: "rule", width: 1 }], { alpha: part === "front" ? 0.45 : 0.8 });
}

function boundsOf(model: PlanModel, project: Project): Box {
  const { plan, height } = corners(model);
  const points = plan.flatMap(([x, y]) => [project(x, y, 0), project(x, y, height)]);
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const margin = 0.3;
  const [x, y] = [Math.min(...xs) - margin, Math.min(...ys) - margin];
  return { x, y, width: Math.max(...xs) + margin - x, height: Math.max(...ys) + margin - y };
}

export function solidOverlay(model: PlanModel, highlight: Highlight, options: ViewOptions): Batch[] {
  const orbit = options.orbit ?? DEFAULT_ORBIT;
  const project = projection(model, orbit);
  const scale = colourScale(model, options.colourBy);
  const roofs = new PolygonBuilder();
  const related = new PolygonBuilder();
  const labels = new LabelBuilder();
  const lines = new PathBuilder();
  const count = highlight.racks.count();
  for (let rack = 0; rack < model.racks.count; rack++) {
    const main = highlight.racks.has(rack) || (count === 0 && highlight.relatedRacks.has(rack));
    if (!main && !highlight.relatedRacks.has(rack)) continue;
    const top = rackHeight(model, rack);
    (main ? roofs : related).add(roofQuad(model, rack, top, project), scale.colourOf(rack), 0);
    const [x, y] = project(model.racks.x[rack]!, model.racks.y[rack]!, top);
    labels.add(model.racks.names[rack]!, x, y, scale.inkOf(rack), model.racks.width[rack]! * 0.9);
  }
  const tip = (rack: number) => project(model.racks.x[rack]!, model.racks.y[rack]!, rackHeight(model, rack));
  for (const bundle of highlight.bundles.toArray().slice(0, 2000)) {
    const [a, b] = [tip(model.bundleA[bundle]!), tip(model.bundleB[bundle]!)];
    // An arc over the racks: its height grows with the distance.
    const lift = Math.hypot(b[0] - a[0], b[1] - a[1]) * 0.22;
    let top = 0;
    for (let level = 0; level < model.levelCount; level++)
      if (model.bundleLevels[bundle * model.levelCount + level]! > 0) top = level;
    lines.add(top, a[0], a[1], a[0], a[1] - lift, b[0], b[1] - lift, b[0], b[1]);
  }
  const strokes = Array.from({ length: Math.max(1, model.levelCount) }, (_, level) => ({
    colour: `level:${level}` as const,
    width: 1.4,
  }));
  return [
    related.batch({ stroke: { colour: "selection", width: 1 } }),
    roofs.batch({ stroke: { colour: "selection", width: 2.5 } }),
    lines.batch(strokes, { shape: "cubic" }),
    labels.batch({ sizePx: 11, weight: 600, align: "center", baseline: "middle", overflow: "hide" }),
  ];
}
