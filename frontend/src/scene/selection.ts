/** One selection for every view and table, and what it lights up. */
import { cableName, formatCount, formatShare, levelShortLabel } from "@/units";
import { Bitset } from "./bitset";
import type { HitItem } from "./hit";
import { csrSlice, memoised, type PlanModel } from "./model";
import { bundlesByTray, traysOfBundle } from "./tray-routes";

export type SelectionKind = "rack" | "device" | "cable" | "tray" | "bundle" | "level" | "group";

export type Selection = { kind: SelectionKind; ids: readonly number[] } | null;

export interface Highlight {
  kind: SelectionKind;
  /** "R11", "2 racks", "L2": for a chip or a heading. */
  label: string;
  /** "256 of 8,192 cables". */
  summary: string;
  /** Cables of the selection, ascending. */
  cables: Uint32Array;
  cableSet: Bitset;
  totalCables: number;
  /** The directly selected items. */
  racks: Bitset;
  devices: Bitset;
  trays: Bitset;
  bundles: Bitset;
  /** At the other end of a selected cable, or around a selected device. */
  relatedRacks: Bitset;
  relatedDevices: Bitset;
  relatedTrays: Bitset;
}

export function sameSelection(a: Selection, b: Selection): boolean {
  if (a === null || b === null) return a === b;
  return a.kind === b.kind && a.ids.length === b.ids.length && a.ids.every((id, i) => id === b.ids[i]);
}

/** Adds the item to a selection of its kind, or takes it out; another kind starts a new one. */
export function toggleSelection(selection: Selection, kind: SelectionKind, id: number): Selection {
  if (selection?.kind !== kind) return { kind, ids: [id] };
  const ids = selection.ids.includes(id) ? selection.ids.filter((i) => i !== id) : [...selection.ids, id];
  return ids.length === 0 ? null : { kind, ids };
}

/** Null when nothing is selected, or nothing that this plan has. */
export function highlightOf(model: PlanModel, selection: Selection): Highlight | null {
  if (selection === null) return null;
  const limit = sizeOf(model, selection.kind);
  const ids = [...new Set(selection.ids)].filter((id) => id >= 0 && id < limit).sort((a, b) => a - b);
  if (ids.length === 0) return null;
  const { cables, devices, racks } = model;
  const cableSet = new Bitset(cables.count);
  const h = {
    racks: new Bitset(racks.count),
    devices: new Bitset(devices.count),
    trays: new Bitset(model.trayCount),
    bundles: new Bitset(model.bundleCount),
    relatedRacks: new Bitset(racks.count),
    relatedDevices: new Bitset(devices.count),
    relatedTrays: new Bitset(model.trayCount),
  };
  const takeBundle = (bundle: number) => {
    h.bundles.add(bundle);
    for (const cable of csrSlice(model.bundleCables, bundle)) cableSet.add(cable);
  };
  const takeRack = (rack: number) => {
    h.racks.add(rack);
    for (const bundle of csrSlice(model.rackBundles, rack)) h.bundles.add(bundle);
    for (const device of csrSlice(model.rackDevices, rack)) {
      h.devices.add(device);
      for (const cable of csrSlice(model.deviceCables, device)) cableSet.add(cable);
    }
  };
  switch (selection.kind) {
    case "rack":
      for (const rack of ids) takeRack(rack);
      break;
    case "group":
      for (const id of ids) for (const rack of model.groups[id]?.racks ?? []) takeRack(rack);
      break;
    case "device":
      for (const device of ids) {
        h.devices.add(device);
        for (const cable of csrSlice(model.deviceCables, device)) cableSet.add(cable);
      }
      break;
    case "cable":
      for (const cable of ids) cableSet.add(cable);
      break;
    case "bundle":
      for (const bundle of ids) takeBundle(bundle);
      break;
    case "tray":
      for (const tray of ids) {
        h.trays.add(tray);
        for (const bundle of bundlesOfTray(model, tray)) takeBundle(bundle);
      }
      break;
    case "level":
      for (let cable = 0; cable < cables.count; cable++)
        if (ids.includes(cables.level[cable]!)) cableSet.add(cable);
      for (let device = 0; device < devices.count; device++)
        if (ids.includes(devices.level[device]!)) h.devices.add(device);
      for (let bundle = 0; bundle < model.bundleCount; bundle++)
        if (ids.some((level) => (model.bundleLevels[bundle * model.levelCount + level] ?? 0) > 0))
          h.bundles.add(bundle);
      break;
  }
  const list = cableSet.toArray();
  for (const cable of list) {
    for (const device of [cables.aDevice[cable]!, cables.bDevice[cable]!]) {
      h.relatedDevices.add(device);
      h.relatedRacks.add(devices.rack[device]!);
    }
    if (cables.bundle[cable]! >= 0 && selection.kind !== "rack" && selection.kind !== "group")
      h.bundles.add(cables.bundle[cable]!);
  }
  for (const bundle of h.bundles.toArray()) {
    h.relatedRacks.add(model.bundleA[bundle]!);
    h.relatedRacks.add(model.bundleB[bundle]!);
    for (const tray of traysOfBundle(model, bundle)) h.relatedTrays.add(tray);
  }
  for (const device of ids.length <= 4096 && selection.kind === "device" ? ids : [])
    h.relatedRacks.add(devices.rack[device]!);
  return {
    ...h,
    kind: selection.kind,
    label: labelOf(model, selection.kind, ids),
    summary: `${formatShare(list.length, cables.count)} cables`,
    cables: list,
    cableSet,
    totalCables: cables.count,
  };
}

export function sizeOf(model: PlanModel, kind: SelectionKind): number {
  switch (kind) {
    case "rack":
      return model.racks.count;
    case "device":
      return model.devices.count;
    case "cable":
      return model.cables.count;
    case "tray":
      return model.trayCount;
    case "bundle":
      return model.bundleCount;
    case "level":
      return model.levelCount;
    case "group":
      return model.groups.length;
  }
}

const PLURALS: Readonly<Record<SelectionKind, string>> = {
  rack: "racks",
  device: "devices",
  cable: "cables",
  tray: "trays",
  bundle: "bundles",
  level: "levels",
  group: "groups",
};

function labelOf(model: PlanModel, kind: SelectionKind, ids: readonly number[]): string {
  if (ids.length > 1) return `${formatCount(ids.length)} ${PLURALS[kind]}`;
  return itemName(model, kind, ids[0]!);
}

/**
 * Both racks; where cables between them take several routes, also a tray that only this one uses.
 */
function bundleName(model: PlanModel, id: number): string {
  const rack = (index: number | undefined) => model.racks.names[index ?? -1] ?? "?";
  const name = `${rack(model.bundleA[id])} \u2013 ${rack(model.bundleB[id])}`;
  const twins = id < model.bundleCount ? bundlesOfPair(model, id).filter((other) => other !== id) : [];
  if (twins.length === 0) return name;
  const others = new Set(twins.flatMap((other) => traysOfBundle(model, other)));
  const own = traysOfBundle(model, id).find((tray) => !others.has(tray));
  return own === undefined ? name : `${name} via ${model.scene.trays.name[own]}`;
}

/** The name that every table, label and export uses for the item. */
export function itemName(model: PlanModel, kind: SelectionKind, id: number): string {
  switch (kind) {
    case "rack":
      return model.racks.names[id] ?? `rack ${id}`;
    case "device":
      return model.devices.names[id] ?? `device ${id}`;
    case "cable":
      return cableName(id);
    case "tray":
      return model.scene.trays.name[id] ?? `tray ${id}`;
    case "bundle":
      return bundleName(model, id);
    case "level":
      return levelShortLabel(id);
    case "group":
      return model.groups[id]?.label ?? `group ${id}`;
  }
}

export function bundlesOfTray(model: PlanModel, tray: number): readonly number[] {
  return memoised(model, "bundles-by-tray", () => bundlesByTray(model))[tray] ?? [];
}

/** All bundles between the two racks of a bundle: one for each route that their cables take. */
export function bundlesOfPair(model: PlanModel, bundle: number): readonly number[] {
  const b = model.bundleB[bundle]!;
  return [...csrSlice(model.rackBundles, model.bundleA[bundle]!)].filter(
    (other) => model.bundleA[other] === model.bundleA[bundle] && model.bundleB[other] === b,
  );
}

/** The items that a click selects: for a matrix cell, every bundle of its two racks. */
export function idsOfItem(model: PlanModel, item: HitItem): readonly number[] {
  return item.kind === "bundle" && item.other !== undefined ? bundlesOfPair(model, item.id) : [item.id];
}
