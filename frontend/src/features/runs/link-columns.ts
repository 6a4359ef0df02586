import type { PlanModel } from "@/scene/model";
import { placeName } from "@/shared/plans/names";
import type { LinkLoad } from "@/shared/runs/run-points";
import type { Column } from "@/ui/data-table";
import { cableName, formatCount, levelShortLabel } from "@/units";

/** A load to sort by; unknown loads sort below all others. */
const known = (load: number | undefined) => (load === undefined || Number.isNaN(load) ? -1 : load);

/**
 * The table of links: both ends and the load in each direction. A link's row is its cable's number.
 */
export function linkColumns(
  model: PlanModel,
  { a_to_b, b_to_a }: LinkLoad,
  format: (value: number) => string = formatCount,
): Column[] {
  const { aDevice, bDevice, level } = model.cables;
  const { names, hosts } = model.devices;
  const end = (device: number) => `${hosts[device]} · ${names[device]} · ${placeName(model, device)}`;
  const load = (id: string, title: string, of: (row: number) => number): Column => ({
    id,
    title,
    width: 88,
    align: "end",
    text: (row) => format(of(row) < 0 ? Number.NaN : of(row)),
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
    load("forth", "A to B", (row) => known(a_to_b[row])),
    load("back", "B to A", (row) => known(b_to_a[row])),
    load("most", "Busier", (row) => Math.max(known(a_to_b[row]), known(b_to_a[row]))),
  ];
}
