/**
 * Names of items in a plan, the same in every table, label and export, and the look-up of an item
 * by its name.
 */
import { csrSlice, memoised, type PlanModel } from "@/scene/model";
import { itemName, type Selection, sizeOf } from "@/scene/selection";
import { cableName, parseCableName } from "@/units";
import type { NamedSelection, SelectionKind } from "./url-state";

/** Ports along an axis of a torus by its size: none alone, one between two, else one each way. */
function torusPorts(sizes: readonly number[]): string[] {
  return sizes.flatMap((size, axis) => {
    const name = "xyz"[axis]!;
    return size < 2 ? [] : size === 2 ? [`${name}+`] : [`${name}+`, `${name}-`];
  });
}

/** A, B, … Z, AA, AB, …: the engine's letters for devices side by side in one unit. */
function slotLetter(slot: number): string {
  const last = String.fromCharCode(65 + (slot % 26));
  return slot < 26 ? last : String.fromCharCode(64 + Math.floor(slot / 26)) + last;
}

/** As the engine names ports: `P3` on a switch, `eth1` on a server, the direction on a torus. */
export function portName(model: PlanModel, device: number, port: number): string {
  if (model.devices.kind[device] === 1) return `P${port}`;
  if (model.topology?.family === "torus3d" || model.topology?.family === "torus2d") {
    const { x, y, z = 1 } = model.topology as unknown as { x: number; y: number; z?: number };
    return torusPorts([x, y, z])[port] ?? `eth${port}`;
  }
  return `eth${port}`;
}

/**
 * `R07-05`, or `R07-05B` where several devices share the unit; a device without a unit goes by its
 * name.
 */
export function placeName(model: PlanModel, device: number): string {
  const { devices, racks } = model;
  const rack = racks.names[devices.rack[device]!] ?? "?";
  const unit = devices.unit[device] ?? 0;
  if (unit === 0) return `${rack}-${devices.names[device] ?? device}`;
  const letter = (devices.slots[device] ?? 1) > 1 ? slotLetter(devices.slot[device] ?? 0) : "";
  return `${rack}-${String(unit).padStart(2, "0")}${letter}`;
}

/** One end of a cable: `R07-12B:P3`. */
export function endName(model: PlanModel, device: number, port: number): string {
  return `${placeName(model, device)}:${portName(model, device, port)}`;
}

/** The links of a breakout cable in the order of its legs; the cable alone if it is none. */
export function legsOf(model: PlanModel, cable: number): number[] {
  const { leg, lead, trunk, aDevice, bDevice } = model.cables;
  if (!leg[cable]) return [cable];
  const device = trunk[cable] === 1 ? aDevice[cable]! : bDevice[cable]!;
  return [...csrSlice(model.deviceCables, device)]
    .filter((item) => leg[item] && lead[item] === lead[cable])
    .sort((item, other) => leg[item]! - leg[other]!);
}

/** "Leg 2 of 4 of C00012"; empty for a cable without legs. */
export function breakoutText(model: PlanModel, cable: number): string {
  const { leg, lead } = model.cables;
  if (!leg[cable]) return "";
  return `Leg ${leg[cable]} of ${legsOf(model, cable).length} of ${cableName(lead[cable]!)}`;
}

/**
 * The label on the near end; the far end carries it mirrored. A breakout's trunk carries one for
 * all its legs, as the engine has it.
 */
export function cableLabel(model: PlanModel, cable: number, fromB = false): string {
  const { aDevice, aPort, bDevice, bPort, trunk } = model.cables;
  const a = (item: number) => endName(model, aDevice[item]!, aPort[item]!);
  const b = (item: number) => endName(model, bDevice[item]!, bPort[item]!);
  const [near, far] = fromB ? [b, a] : [a, b];
  if (trunk[cable] !== (fromB ? 2 : 1)) return `${near(cable)}/${far(cable)}`;
  const legs = legsOf(model, cable);
  const [first, last] = [legs[0]!, legs.at(-1)!];
  const lastPort = fromB
    ? portName(model, bDevice[last]!, bPort[last]!)
    : portName(model, aDevice[last]!, aPort[last]!);
  return legs.length === 1
    ? `${near(first)}/${far(first)}`
    : `${near(first)}-${lastPort}/${far(first)}+${legs.length - 1}`;
}

/** Device index by name and by host name. */
export function deviceIndex(model: PlanModel): Map<string, number> {
  return memoised(
    model,
    "device-by-name",
    () =>
      new Map(
        [...model.devices.hosts, ...model.devices.names].map((name, at) => [name, at % model.devices.count]),
      ),
  );
}

function indexOf(model: PlanModel, kind: SelectionKind, name: string): number {
  if (kind === "device") return deviceIndex(model).get(name) ?? -1;
  if (kind === "rack") return model.racks.names.indexOf(name);
  if (kind === "cable") return parseCableName(name) ?? -1;
  if (kind === "tray") return model.scene.trays.name.indexOf(name);
  if (kind === "bundle") {
    for (let bundle = 0; bundle < model.bundleCount; bundle++)
      if (itemName(model, "bundle", bundle) === name) return bundle;
    return -1;
  }
  return /^\d+$/.test(name) ? Number(name) : -1;
}

/** The ids behind the names, as far as this plan has them. */
export function resolveSelection(model: PlanModel, named: NamedSelection | null): Selection {
  if (!named) return null;
  const size = sizeOf(model, named.kind);
  const ids = named.names
    .map((name) => indexOf(model, named.kind, name))
    .filter((id) => id >= 0 && id < size);
  return ids.length > 0 ? { kind: named.kind, ids } : null;
}

/** More names than this would make a link nobody can paste. */
const NAMES_IN_URL = 40;

export function nameSelection(model: PlanModel, selection: Selection): NamedSelection | null {
  if (!selection || selection.ids.length === 0) return null;
  const names = selection.ids
    .slice(0, NAMES_IN_URL)
    .map((id) =>
      selection.kind === "level" || selection.kind === "group"
        ? String(id)
        : selection.kind === "cable"
          ? cableName(id)
          : itemName(model, selection.kind, id),
    );
  return { kind: selection.kind, names };
}

export interface TraceRow {
  cable: number;
  port: number;
  portName: string;
  farDevice: number;
  farPort: number;
  /** This device is the cable's b end. */
  fromB: boolean;
}

/** Every cabled port of a device, by port number. */
export function traceOf(model: PlanModel, device: number): TraceRow[] {
  const { aDevice, aPort, bDevice, bPort } = model.cables;
  const rows: TraceRow[] = [];
  for (const cable of csrSlice(model.deviceCables, device)) {
    const fromB = aDevice[cable] !== device;
    const port = fromB ? bPort[cable]! : aPort[cable]!;
    rows.push({
      cable,
      port,
      portName: portName(model, device, port),
      farDevice: fromB ? aDevice[cable]! : bDevice[cable]!,
      farPort: fromB ? aPort[cable]! : bPort[cable]!,
      fromB,
    });
  }
  return rows.sort((a, b) => a.port - b.port);
}
