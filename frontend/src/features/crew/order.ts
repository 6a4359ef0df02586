/** A rack's cables in the order in which a crew pulls them, and the data for each. */
import { csrSlice, type PlanModel } from "@/scene/model";
import { cableLabel, endName } from "@/shared/plans/names";

/**
 * Cables with an end in `rack`: first the cables within the rack, then by bundle in the plan's pull
 * order, so that cables in the same trays are pulled together. Within a bundle by level, then from
 * the rack's top unit down.
 */
export function pullList(model: PlanModel, rack: number): number[] {
  const { devices, cables } = model;
  const touched = new Set<number>();
  for (const device of csrSlice(model.rackDevices, rack))
    for (const cable of csrSlice(model.deviceCables, device)) touched.add(cable);
  const order = model.scene.bundles.pull_order;
  const key = (cable: number): number[] => {
    const bundle = cables.bundle[cable]!;
    const { device, port } = nearEnd(model, cable, rack);
    return [
      bundle < 0 ? -1 : order[bundle]!,
      cables.level[cable]!,
      -devices.unit[device]!,
      devices.slot[device]!,
      port,
      cable,
    ];
  };
  return [...touched]
    .map((cable) => ({ cable, key: key(cable) }))
    .sort((a, b) => firstDifference(a.key, b.key))
    .map(({ cable }) => cable);
}

function firstDifference(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return a[at]! - b[at]!;
  return 0;
}

interface Plug {
  device: number;
  port: number;
}

function plugs(model: PlanModel, cable: number): [Plug, Plug] {
  const { aDevice, aPort, bDevice, bPort } = model.cables;
  return [
    { device: aDevice[cable]!, port: aPort[cable]! },
    { device: bDevice[cable]!, port: bPort[cable]! },
  ];
}

/** The end in `rack`; the a end of a cable that stays in it. */
function nearEnd(model: PlanModel, cable: number, rack: number): Plug {
  const [a, b] = plugs(model, cable);
  return model.devices.rack[a.device] === rack ? a : b;
}

export interface CableEnd {
  rack: string;
  /**
   * `U24A` as on labels, with the letter where several devices share the unit; empty for a device
   * that found no room.
   */
  unit: string;
  device: string;
  /** `R07-12B:P3`: place and port, as on labels. */
  place: string;
  port: string;
  /** As printed at this end: this end first. */
  label: string;
}

/** Both ends of a cable, the one in `rack` first. */
export function cableEnds(model: PlanModel, cable: number, rack: number): [CableEnd, CableEnd] {
  const [a, b] = plugs(model, cable);
  const [here, there] = model.devices.rack[a.device] === rack ? [a, b] : [b, a];
  const atA = here === a;
  return [
    endOf(model, here, cableLabel(model, cable, !atA)),
    endOf(model, there, cableLabel(model, cable, atA)),
  ];
}

function endOf(model: PlanModel, here: Plug, label: string): CableEnd {
  const { devices, racks } = model;
  const place = endName(model, here.device, here.port);
  const rack = racks.names[devices.rack[here.device]!] ?? "?";
  const colon = place.lastIndexOf(":");
  return {
    rack,
    unit: devices.unit[here.device]! > 0 ? `U${place.slice(rack.length + 1, colon)}` : "",
    device: devices.hosts[here.device]!,
    place,
    port: place.slice(colon + 1),
    label,
  };
}

/**
 * The trays of a cable from `rack` on, each row of consecutive trays as its first and last; none
 * for a cable within a rack.
 */
export function trayText(model: PlanModel, cable: number, rack: number): string[] {
  const bundle = model.cables.bundle[cable]!;
  if (bundle < 0) return [];
  const { tray_runs, rack_a } = model.scene.bundles;
  const names = model.scene.trays.name;
  const rows = (tray_runs[bundle] ?? []).map(([first, past]) => {
    const last = past! > first! ? past! - 1 : past! + 1;
    return [names[first!]!, names[last]!] as const;
  });
  const ours = rack_a[bundle] === rack;
  const inOrder = ours ? rows : rows.map(([first, last]) => [last, first] as const).reverse();
  return inOrder.map(([first, last]) => (first === last ? first : `${first} to ${last}`));
}
