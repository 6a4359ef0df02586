/** Items in words: for tooltips, the inspector and screen readers. */
import {
  formatCount,
  formatKilograms,
  formatMetres,
  formatMillimetres,
  formatPercent,
  formatShare,
  formatWatts,
  levelShortLabel,
  plural,
} from "@/units";
import type { HitItem } from "./hit";
import { csrSlice, type PlanModel } from "./model";
import { idsOfItem, itemName } from "./selection";
import { COLOUR_BY_TITLES, VIEW_TITLES, type ViewKind, type ViewOptions } from "./view";

export interface Description {
  title: string;
  lines: readonly string[];
}

export function describe(model: PlanModel, item: HitItem): Description {
  return { title: itemName(model, item.kind, item.id), lines: linesOf(model, item) };
}

function linesOf(model: PlanModel, item: HitItem): string[] {
  const { kind, id } = item;
  const { scene, racks, devices, cables } = model;
  switch (kind) {
    case "rack": {
      const r = scene.racks;
      return [
        `${plural(r.servers[id] ?? 0, "server")}, ${plural(r.switches[id] ?? 0, "switch", "switches")}`,
        `${formatShare(r.units_used[id] ?? 0, racks.units[id] ?? 0)} units`,
        `${formatWatts(r.power_watts[id])} \u00b7 ${formatKilograms(r.weight_kg[id])}`,
        `${plural(r.cables_leaving[id] ?? 0, "cable")} leave the rack`,
        r.group_label[id] ?? "",
      ].filter((line) => line !== "");
    }
    case "device": {
      const level = devices.level[id]!;
      const part = scene.parts[scene.devices.part[id] ?? -1];
      return [
        `${level < 0 ? "server" : `switch, ${levelShortLabel(level)}`} \u00b7 ${placeOf(model, id)}`,
        part ? part.name : "",
        `${plural(csrSlice(model.deviceCables, id).length, "cable")}, ${plural(devices.portCount[id]!, "port")}`,
      ].filter((line) => line !== "");
    }
    case "cable": {
      const [a, b] = [cables.aDevice[id]!, cables.bDevice[id]!];
      return [
        `${devices.names[a]} \u00b7 ${placeOf(model, a)}:P${cables.aPort[id]}`,
        `${devices.names[b]} \u00b7 ${placeOf(model, b)}:P${cables.bPort[id]}`,
        `${levelShortLabel(cables.level[id]!)} \u00b7 ${formatMillimetres(cables.lengthMm[id])}, stock ${formatMillimetres(cables.stockMm[id])}`,
        model.cablesDocument?.routes[cables.route[id]!] ?? "",
      ].filter((line) => line !== "");
    }
    case "tray": {
      const t = scene.trays;
      return [
        `${plural(t.cables[id] ?? 0, "cable")} \u00b7 ${formatCount(t.area_cm2[id])}\u00a0cm\u00b2`,
        `fill ${formatPercent(t.fill[id])}`,
        levelSplit(model, model.trayLevels, id),
      ].filter((line) => line !== "");
    }
    case "bundle": {
      const b = scene.bundles;
      return idsOfItem(model, item).flatMap((bundle) =>
        [
          `${plural(b.cables[bundle] ?? 0, "cable")} \u00b7 ${formatMetres(b.length_metres[bundle])}`,
          levelSplit(model, model.bundleLevels, bundle),
          `pull order ${formatCount(b.pull_order[bundle])}`,
        ].filter((line) => line !== ""),
      );
    }
    case "level": {
      const switches = devices.level.reduce((n, level) => n + (level === id ? 1 : 0), 0);
      return [
        scene.levels.find(({ level }) => level === id)?.label ?? "",
        plural(switches, "switch", "switches"),
      ].filter((line) => line !== "");
    }
    case "group":
      return [plural(model.groups[id]?.racks.length ?? 0, "rack")];
  }
}

function levelSplit(model: PlanModel, flat: Float64Array, id: number): string {
  const parts: string[] = [];
  for (let level = 0; level < model.levelCount; level++) {
    const cables = flat[id * model.levelCount + level]!;
    if (cables > 0) parts.push(`${levelShortLabel(level)} ${formatCount(cables)}`);
  }
  return parts.join(", ");
}

/** "R07 \u00b7 U12B": rack, unit and, where devices share it, the slot's letter. */
export function placeOf(model: PlanModel, device: number): string {
  const { rack, unit, slot, slots } = model.devices;
  const letter = slots[device]! > 1 ? String.fromCharCode(65 + slot[device]!) : "";
  return `${model.racks.names[rack[device]!] ?? "?"} \u00b7 U${unit[device]}${letter}`;
}

/** One sentence for the picture's label. */
export function describeView(model: PlanModel, view: ViewKind, options: ViewOptions): string {
  const counts = `${plural(model.racks.count, "rack")}, ${plural(model.devices.count, "device")}, ${plural(model.cables.count, "cable")}`;
  const coloured = options.heat
    ? `, links by ${options.heat.title.toLowerCase()}`
    : view === "floor" || view === "3d"
      ? `, coloured by ${COLOUR_BY_TITLES[options.colourBy].toLowerCase()}`
      : "";
  return `${VIEW_TITLES[view]} of ${model.scene.enclosure.name}: ${counts}${coloured}.`;
}
