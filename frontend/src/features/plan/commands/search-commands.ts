/** Cables, racks and devices of the plan by name, as commands that select them. */
import type { PlanModel } from "@/scene/model";
import type { Selection } from "@/scene/selection";
import { deviceIndex, placeName } from "@/shared/plans/names";
import type { Command } from "@/shared/shell/commands";
import { cableName, parseCableName } from "@/units";

const FOUND = 12;

export function searchCommands(
  model: PlanModel,
  query: string,
  select: (selection: Selection) => void,
): Command[] {
  const commands: Command[] = [];
  const wanted = query.toLowerCase();
  const cable = parseCableName(query.toUpperCase());
  if (cable !== null && cable < model.cables.count)
    commands.push({
      id: `cable-${cable}`,
      title: `Cable ${cableName(cable)}`,
      group: "Cable",
      run: () => select({ kind: "cable", ids: [cable] }),
    });
  model.racks.names.forEach((name, rack) => {
    if (commands.length < FOUND && name.toLowerCase().startsWith(wanted))
      commands.push({
        id: `rack-${name}`,
        title: `Rack ${name}`,
        group: "Rack",
        run: () => select({ kind: "rack", ids: [rack] }),
      });
  });
  const exact = deviceIndex(model).get(query);
  const devices = exact === undefined ? [] : [exact];
  for (let d = 0; d < model.devices.count && devices.length < FOUND; d++)
    if (
      d !== exact &&
      (model.devices.names[d]!.toLowerCase().startsWith(wanted) || model.devices.hosts[d]!.startsWith(wanted))
    )
      devices.push(d);
  for (const device of devices)
    commands.push({
      id: `device-${device}`,
      title: `${model.devices.kind[device] === 1 ? "Switch" : "Server"} ${model.devices.names[device]}`,
      hint: `${model.devices.hosts[device]} · ${placeName(model, device)}`,
      group: "Device",
      run: () => select({ kind: "device", ids: [device] }),
    });
  return commands.slice(0, 2 * FOUND);
}
