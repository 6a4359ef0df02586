/**
 * Trees, fat-trees, leaf-spines and Subways in layers: servers at the bottom in the order of their
 * switches, and one row per switch tier above. Families without a specific picture are drawn like
 * this too.
 */
import { csrSlice, type PlanModel } from "../model";
import type { LogicalLayout } from "./layout";
import { Bounds, GroupCollector } from "./parts";

/** Width over height of the whole picture. */
const ASPECT = 1.75;
/** Trunks are drawn between at most this many parts of a tier. */
const PARTS = 32;
/**
 * Space left of the tiers for their names: a share of the picture's width, and at least a share of
 * its height, which determines the scale of a narrow picture.
 */
const GUTTER_SHARE = 0.2;
const GUTTER_OF_HEIGHT = 0.35;

export function layeredLayout(model: PlanModel): LogicalLayout {
  const { devices } = model;
  const tiers = tiersOf(model);
  const parents = parentsOf(model, tiers[0] ?? []);
  const most = Math.max(1, ...parents.map((list) => list.length));
  // The servers of one switch form a small block, about twice as high as wide.
  const columns = Math.max(1, Math.round(Math.sqrt(most / 2)));
  const rows = Math.ceil(most / columns);
  const slot = columns + 0.6;
  const slots = Math.max(parents.length, ...tiers.map((tier) => tier.length), 1);
  const width = Math.max(parents.length * slot, slots * 1.2);
  const pitch = Math.max(3, (width / ASPECT - rows) / Math.max(1, tiers.length));
  const switchHeight = Math.min(pitch * 0.3, Math.max(0.9, width / 160));
  const x = new Float32Array(devices.count);
  const y = new Float32Array(devices.count);
  const groups = new GroupCollector(devices.count);
  const all = new Bounds();
  const put = (device: number, px: number, py: number, level: number, part: number, label: string) => {
    x[device] = px;
    y[device] = py;
    all.add(px, py, 0.5, level < 0 ? 0.5 : switchHeight / 2);
    groups.add(device, `${level}:${part}`, label, level, px, py, 0.5);
  };
  const ground = tiers.length * pitch;
  const chunk = Math.max(1, Math.ceil(parents.length / PARTS));
  parents.forEach((list, parent) => {
    const left = ((parent + 0.5) / parents.length) * width - columns / 2;
    list.forEach((server, i) => {
      put(
        server,
        left + (i % columns) + 0.5,
        ground + Math.floor(i / columns),
        -1,
        Math.floor(parent / chunk),
        "",
      );
    });
  });
  tiers.forEach((tier, row) => {
    const part = Math.max(1, Math.ceil(tier.length / PARTS));
    tier.forEach((device, i) => {
      put(
        device,
        ((i + 0.5) / tier.length) * width,
        ground - (row + 1) * pitch + pitch * 0.3,
        devices.level[device]!,
        Math.floor(i / part),
        "",
      );
    });
  });
  const box = all.box(width * 0.02);
  const gutter = Math.max(width * GUTTER_SHARE, box.height * GUTTER_OF_HEIGHT);
  return {
    x,
    y,
    nodeWidth: 0.86,
    nodeHeight: 0.86,
    switchHeight,
    groups: groups.groups(0.2),
    groupOf: groups.of,
    buses: [],
    link: "flow",
    gutter,
    bounds: { ...box, x: box.x - gutter, width: box.width + gutter },
  };
}

/** Switches by level, lowest first. */
function tiersOf(model: PlanModel): number[][] {
  const byLevel = new Map<number, number[]>();
  for (let device = 0; device < model.devices.count; device++) {
    const level = model.devices.level[device]!;
    if (level < 0) continue;
    const tier = byLevel.get(level);
    if (tier) tier.push(device);
    else byLevel.set(level, [device]);
  }
  return [...byLevel.entries()].sort(([a], [b]) => a - b).map(([, tier]) => tier);
}

/**
 * Servers by the switch at the other end of their first cable; without switches, all in runs of 64.
 */
function parentsOf(model: PlanModel, tier: readonly number[]): number[][] {
  const { devices, cables } = model;
  const place = new Map(tier.map((device, i) => [device, i]));
  const lists: number[][] = tier.map(() => []);
  const loose: number[][] = [];
  let seen = 0;
  for (let device = 0; device < devices.count; device++) {
    if (devices.level[device]! >= 0) continue;
    let parent: number | undefined;
    for (const cable of csrSlice(model.deviceCables, device)) {
      const other = cables.aDevice[cable] === device ? cables.bDevice[cable]! : cables.aDevice[cable]!;
      parent = place.get(other);
      if (parent !== undefined) break;
    }
    if (parent !== undefined) lists[parent]!.push(device);
    else {
      const run = Math.floor(seen / 64);
      loose[run] ??= [];
      loose[run].push(device);
    }
    seen++;
  }
  return [...lists, ...loose];
}
