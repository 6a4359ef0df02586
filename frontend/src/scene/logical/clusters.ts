/**
 * Dragonflies and Jellyfish on circles: groups around the middle, switches of a group around its
 * own, servers outside of theirs.
 */
import { csrSlice, type PlanModel } from "../model";
import type { LogicalLayout } from "./layout";
import { Bounds, GroupCollector, ring } from "./parts";

/** Distance between neighbouring servers: two columns of them extend outwards from their switch. */
const SERVER_STEP = 0.7;

/**
 * Groups of a dragonfly by the first number of switches' names, `<0,3.1>`; null where names are
 * others.
 */
export function dragonflyLayout(model: PlanModel): LogicalLayout | null {
  const groups = new Map<string, number[]>();
  for (const device of switchesOf(model)) {
    const match = /^<0,(\d+)\.\d+>$/.exec(model.devices.names[device]!);
    if (!match) return null;
    const group = groups.get(match[1]!);
    if (group) group.push(device);
    else groups.set(match[1]!, [device]);
  }
  return groups.size > 0
    ? onCircles(
        model,
        [...groups].map(([name, switches]) => ({ label: `Group ${name}`, switches })),
      )
    : null;
}

/**
 * All switches of a Jellyfish on one circle, in their order; null for a network without switches.
 */
export function jellyfishLayout(model: PlanModel): LogicalLayout | null {
  const switches = switchesOf(model);
  return switches.length > 0 ? { ...onCircles(model, [{ label: "", switches }]), allLinks: true } : null;
}

const switchesOf = ({ devices }: PlanModel): number[] =>
  Array.from({ length: devices.count }, (_, device) => device).filter(
    (device) => devices.level[device]! >= 0,
  );

/** Servers by the switch at their first cable. */
function serversOf(model: PlanModel): Map<number, number[]> {
  const { devices, cables } = model;
  const lists = new Map<number, number[]>();
  for (let device = 0; device < devices.count; device++) {
    if (devices.level[device]! >= 0) continue;
    const [cable] = csrSlice(model.deviceCables, device);
    if (cable === undefined) continue;
    const above = cables.aDevice[cable] === device ? cables.bDevice[cable]! : cables.aDevice[cable]!;
    const list = lists.get(above);
    if (list) list.push(device);
    else lists.set(above, [device]);
  }
  return lists;
}

function onCircles(model: PlanModel, circles: { label: string; switches: number[] }[]): LogicalLayout {
  const { devices } = model;
  const servers = serversOf(model);
  const most = Math.max(0, ...[...servers.values()].map((list) => list.length));
  // The servers of a switch form a block two wide, outwards.
  const deep = Math.ceil(most / 2) * SERVER_STEP;
  const largest = Math.max(...circles.map(({ switches }) => switches.length));
  const inner = Math.max(1.5, (largest * 2.2) / (2 * Math.PI));
  const around = ring(circles.length, inner + deep + 1.5, false);
  const x = new Float32Array(devices.count);
  const y = new Float32Array(devices.count);
  const groups = new GroupCollector(devices.count);
  const all = new Bounds();
  const put = (device: number, px: number, py: number, key: string, label: string) => {
    x[device] = px;
    y[device] = py;
    all.add(px, py, 0.6);
    groups.add(device, key, label, devices.level[device]!, px, py, 0.5, true);
  };
  circles.forEach(({ label, switches }, at) => {
    const [cx, cy] = around.places[at]!;
    switches.forEach((device, i) => {
      const angle = (i / switches.length) * 2 * Math.PI - Math.PI / 2;
      const [ux, uy] = [Math.cos(angle), Math.sin(angle)];
      put(device, cx + inner * ux, cy + inner * uy, String(at), label);
      (servers.get(device) ?? []).forEach((server, n) => {
        const out = inner + 1.2 + Math.floor(n / 2) * SERVER_STEP;
        const aside = (n % 2) * SERVER_STEP - SERVER_STEP / 2;
        put(server, cx + out * ux - aside * uy, cy + out * uy + aside * ux, String(at), label);
      });
    });
  });
  let loose = 0;
  for (let device = 0; device < devices.count; device++) {
    if (groups.of[device]! >= 0) continue;
    put(device, loose++ * SERVER_STEP, around.outer + 2, "loose", "");
  }
  return {
    x,
    y,
    nodeWidth: 0.5,
    nodeHeight: 0.5,
    switchHeight: 0.5,
    groups: groups.groups(0.4),
    groupOf: groups.of,
    buses: [],
    link: "arc",
    bounds: all.box(1.2),
  };
}
