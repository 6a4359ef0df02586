import type { PlanModel } from "@/scene/model";
import type { Column } from "@/ui/data-table";
import { cableName, formatCount, levelShortLabel } from "@/units";
import { placeName } from "../shared/names";
import type { LinkLoad } from "../shared/run-points";

/** The table of links: both ends and what goes each way. A link's row is its cable's number. */
export function linkColumns(model: PlanModel, { a_to_b, b_to_a }: LinkLoad): Column[] {
  const { aDevice, bDevice, level } = model.cables;
  const { names, hosts } = model.devices;
  const end = (device: number) => `${hosts[device]} · ${names[device]} · ${placeName(model, device)}`;
  const flows = (id: string, title: string, of: (row: number) => number): Column => ({
    id,
    title,
    width: 88,
    align: "end",
    text: (row) => formatCount(of(row)),
    sort: of,
  });
  return [
    { id: "link", title: "Link", width: 72, mono: true, text: cableName, sort: (row) => row },
    {
      id: "level",
      title: "Level",
      width: 56,
      text: (row) => levelShortLabel(level[row]!),
      sort: (row) => level[row]!,
    },
    { id: "a", title: "A: host name · paper's name · rack-U", width: 265, text: (row) => end(aDevice[row]!) },
    { id: "b", title: "B: host name · paper's name · rack-U", width: 265, text: (row) => end(bDevice[row]!) },
    flows("forth", "A to B", (row) => a_to_b[row] ?? 0),
    flows("back", "B to A", (row) => b_to_a[row] ?? 0),
    flows("most", "Busier", (row) => Math.max(a_to_b[row] ?? 0, b_to_a[row] ?? 0)),
  ];
}
