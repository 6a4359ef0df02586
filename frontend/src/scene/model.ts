/**
 * The plan documents as typed arrays with the indices every view needs: devices by rack, cables by
 * device, by rack and by bundle. Made once a document; all views and all selections read it.
 */
import { DEFAULT_RACK_DEPTH_METRES, DEFAULT_RACK_WIDTH_METRES } from "@/units";
import type { CablesDocument, Column, SceneDocument, TopologySpec } from "./document";

/** Lists of ids by key: those of `key` are `items[offsets[key] .. offsets[key + 1]]`. */
export interface Csr {
  offsets: Uint32Array;
  items: Uint32Array;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface RackColumns {
  count: number;
  names: readonly string[];
  x: Float64Array;
  y: Float64Array;
  width: Float64Array;
  depth: Float64Array;
  /** 1 when the front looks up the picture (north, larger y in the plan), -1 otherwise. */
  facesNorth: Int8Array;
  row: Int32Array;
  group: Int32Array;
  units: Int32Array;
}

export interface DeviceColumns {
  count: number;
  names: readonly string[];
  hosts: readonly string[];
  kind: Uint8Array;
  level: Int8Array;
  rack: Int32Array;
  unit: Int32Array;
  heightUnits: Float64Array;
  slot: Int32Array;
  slots: Int32Array;
  portCount: Int32Array;
}

export interface CableColumns {
  count: number;
  aDevice: Uint32Array;
  bDevice: Uint32Array;
  aPort: Uint16Array;
  bPort: Uint16Array;
  level: Uint8Array;
  route: Uint8Array;
  lengthMm: Uint32Array;
  stockMm: Uint32Array;
  bundle: Int32Array;
  /** The row of the whole cable: its own row, or that of a breakout's first leg. */
  lead: Uint32Array;
  /** The number of a breakout's leg, from 1; 0 for other cables. */
  leg: Uint8Array;
  /** The end with a breakout's one plug: 1 for a, 2 for b, 0 for none. */
  trunk: Uint8Array;
}

export interface Group {
  id: number;
  label: string;
  racks: readonly number[];
}

export interface PlanModel {
  /**
   * The document with y turned over: plans count y upwards, pictures downwards, and left must stay
   * left.
   */
  scene: SceneDocument;
  cablesDocument: CablesDocument | null;
  topology: TopologySpec | null;
  racks: RackColumns;
  devices: DeviceColumns;
  cables: CableColumns;
  levelCount: number;
  groups: readonly Group[];
  /** Racks by row, left to right. */
  rows: readonly (readonly number[])[];
  trayCount: number;
  trayLevels: Float64Array;
  bundleCount: number;
  bundleA: Int32Array;
  bundleB: Int32Array;
  bundleLevels: Float64Array;
  rackDevices: Csr;
  deviceCables: Csr;
  rackBundles: Csr;
  bundleCables: Csr;
  /** The floor with a margin: the enclosure and everything outside it. */
  floor: Box;
  /** Work that a view did once and other views may use again (routes, layouts). */
  memo: Map<string, unknown>;
}

/** Groups `count` items by `keyOf(item)`; keys outside 0..keys are left out. Item order is kept. */
export function csrBy(keys: number, count: number, keyOf: (item: number) => number): Csr {
  const offsets = new Uint32Array(keys + 1);
  for (let item = 0; item < count; item++) {
    const key = keyOf(item);
    if (key >= 0 && key < keys) offsets[key + 1]!++;
  }
  for (let key = 0; key < keys; key++) offsets[key + 1]! += offsets[key]!;
  const items = new Uint32Array(offsets[keys]!);
  const next = offsets.slice();
  for (let item = 0; item < count; item++) {
    const key = keyOf(item);
    if (key >= 0 && key < keys) items[next[key]!++] = item;
  }
  return { offsets, items };
}

/** Like `csrBy` for items with two ends; an item with both ends at one key is listed once. */
export function csrByEnds(keys: number, a: ArrayLike<number>, b: ArrayLike<number>): Csr {
  const offsets = new Uint32Array(keys + 1);
  for (let item = 0; item < a.length; item++) {
    offsets[a[item]! + 1]!++;
    if (b[item] !== a[item]) offsets[b[item]! + 1]!++;
  }
  for (let key = 0; key < keys; key++) offsets[key + 1]! += offsets[key]!;
  const items = new Uint32Array(offsets[keys]!);
  const next = offsets.slice();
  for (let item = 0; item < a.length; item++) {
    items[next[a[item]!]!++] = item;
    if (b[item] !== a[item]) items[next[b[item]!]!++] = item;
  }
  return { offsets, items };
}

export function csrSlice(csr: Csr, key: number): Uint32Array {
  return csr.items.subarray(csr.offsets[key] ?? 0, csr.offsets[key + 1] ?? 0);
}

/**
 * Caches values that are computed once per model: routes, layouts. `make` must be a pure function
 * of the model.
 */
export function memoised<T>(model: PlanModel, key: string, make: () => T): T {
  if (!model.memo.has(key)) model.memo.set(key, make());
  return model.memo.get(key) as T;
}

function positive(column: Column | undefined, count: number, fallback: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => {
    const value = column?.[i];
    return value !== undefined && value > 0 ? value : fallback;
  });
}

function perLevel(lists: readonly Column[] | undefined, count: number, levels: number): Float64Array {
  const flat = new Float64Array(count * levels);
  for (let i = 0; i < count; i++)
    for (let level = 0; level < levels; level++) flat[i * levels + level] = lists?.[i]?.[level] ?? 0;
  return flat;
}

function turnedOver(scene: SceneDocument): SceneDocument {
  const turn = (ys: Column) => ys.map((y) => scene.enclosure.width_metres - y);
  return {
    ...scene,
    racks: {
      ...scene.racks,
      y_metres: turn(scene.racks.y_metres),
      tray_y_metres: turn(scene.racks.tray_y_metres),
    },
    trays: {
      ...scene.trays,
      y0_metres: turn(scene.trays.y0_metres),
      y1_metres: turn(scene.trays.y1_metres),
    },
  };
}

export function createModel(
  document: SceneDocument,
  cablesDocument: CablesDocument | null = null,
  topology: TopologySpec | null = null,
): PlanModel {
  const scene = turnedOver(document);
  const { racks: r, devices: d, trays: t, bundles: b } = scene;
  const rackCount = r.name.length;
  const deviceCount = d.name.length;
  const racks: RackColumns = {
    count: rackCount,
    names: r.name,
    x: Float64Array.from(r.x_metres),
    y: Float64Array.from(r.y_metres),
    width: positive(r.width_metres, rackCount, DEFAULT_RACK_WIDTH_METRES),
    depth: positive(r.depth_metres, rackCount, DEFAULT_RACK_DEPTH_METRES),
    facesNorth: Int8Array.from(r.facing, (f) => (f === "north" ? 1 : -1)),
    row: Int32Array.from(r.row),
    group: Int32Array.from(r.group),
    units: Int32Array.from(r.units),
  };
  const devices: DeviceColumns = {
    count: deviceCount,
    names: d.name,
    hosts: d.host,
    kind: Uint8Array.from(d.kind),
    level: Int8Array.from(d.level),
    rack: Int32Array.from(d.rack),
    unit: Int32Array.from(d.unit),
    heightUnits: positive(d.height_units, deviceCount, 1),
    slot: Int32Array.from(d.slot),
    slots: Int32Array.from(d.slots),
    portCount: Int32Array.from(d.port_count),
  };
  const c = cablesDocument?.columns;
  const cables: CableColumns = {
    count: c?.a_device.length ?? 0,
    aDevice: Uint32Array.from(c?.a_device ?? []),
    bDevice: Uint32Array.from(c?.b_device ?? []),
    aPort: Uint16Array.from(c?.a_port ?? []),
    bPort: Uint16Array.from(c?.b_port ?? []),
    level: Uint8Array.from(c?.level ?? []),
    route: Uint8Array.from(c?.route ?? []),
    lengthMm: Uint32Array.from(c?.length_mm ?? []),
    stockMm: Uint32Array.from(c?.stock_mm ?? []),
    bundle: Int32Array.from(c?.bundle ?? []),
    lead: Uint32Array.from(c?.lead ?? c?.a_device.map((_, row) => row) ?? []),
    leg: Uint8Array.from(c?.leg ?? { length: c?.a_device.length ?? 0 }),
    trunk: Uint8Array.from(c?.trunk ?? { length: c?.a_device.length ?? 0 }),
  };
  let levelCount = scene.levels.reduce((most, { level }) => Math.max(most, level + 1), 0);
  for (const level of cables.level) levelCount = Math.max(levelCount, level + 1);
  const bundleCount = b.rack_a.length;
  return {
    scene,
    cablesDocument,
    topology,
    racks,
    devices,
    cables,
    levelCount,
    groups: groupsOf(scene),
    rows: rowsOf(racks),
    trayCount: t.name.length,
    trayLevels: perLevel(t.cables_by_level, t.name.length, levelCount),
    bundleCount,
    bundleA: Int32Array.from(b.rack_a),
    bundleB: Int32Array.from(b.rack_b),
    bundleLevels: perLevel(b.by_level, bundleCount, levelCount),
    rackDevices: csrBy(rackCount, deviceCount, (i) => devices.rack[i]!),
    deviceCables: csrByEnds(deviceCount, cables.aDevice, cables.bDevice),
    rackBundles: csrByEnds(rackCount, b.rack_a, b.rack_b),
    bundleCables: csrBy(bundleCount, cables.count, (i) => cables.bundle[i]!),
    floor: floorOf(scene, racks),
    memo: new Map(),
  };
}

function groupsOf(scene: SceneDocument): Group[] {
  const byId = new Map<number, { id: number; label: string; racks: number[] }>();
  scene.racks.group.forEach((id, rack) => {
    const group = byId.get(id) ?? { id, label: scene.racks.group_label[rack] ?? `Group ${id}`, racks: [] };
    group.racks.push(rack);
    byId.set(id, group);
  });
  return [...byId.values()].sort((a, b) => a.id - b.id);
}

function rowsOf(racks: RackColumns): number[][] {
  const byRow = new Map<number, number[]>();
  for (let rack = 0; rack < racks.count; rack++) {
    const row = racks.row[rack]!;
    const list = byRow.get(row);
    if (list) list.push(rack);
    else byRow.set(row, [rack]);
  }
  return [...byRow.entries()]
    .sort(([a], [b]) => a - b)
    .map(([, list]) => list.sort((a, b) => racks.x[a]! - racks.x[b]! || a - b));
}

function floorOf(scene: SceneDocument, racks: RackColumns): Box {
  let [x0, y0, x1, y1] = [0, 0, scene.enclosure.length_metres, scene.enclosure.width_metres];
  for (let i = 0; i < racks.count; i++) {
    x0 = Math.min(x0, racks.x[i]! - racks.width[i]! / 2);
    x1 = Math.max(x1, racks.x[i]! + racks.width[i]! / 2);
    y0 = Math.min(y0, racks.y[i]! - racks.depth[i]! / 2);
    y1 = Math.max(y1, racks.y[i]! + racks.depth[i]! / 2);
  }
  return { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
}

/** Whether some rows of cables are legs, so that there are more rows than cables. */
export function hasBreakouts(model: PlanModel): boolean {
  return memoised(model, "hasBreakouts", () => model.cables.leg.some((leg) => leg > 0));
}

/** The rack at both ends of a cable. */
export function cableRacks(model: PlanModel, cable: number): [number, number] {
  return [
    model.devices.rack[model.cables.aDevice[cable]!]!,
    model.devices.rack[model.cables.bDevice[cable]!]!,
  ];
}
