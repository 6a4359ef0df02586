import type { Bom } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import type { Column } from "@/ui/data-table";
import { BasisBadge } from "@/ui/marks";
import {
  formatCount,
  formatKilograms,
  formatMetres,
  formatMoney,
  formatNumber,
  formatPercent,
  formatShort,
  formatWatts,
  plural,
} from "@/units";

const CATEGORIES: Record<string, string> = {
  switch: "Switch",
  nic: "NIC",
  server: "Server",
  cable: "Cable",
  transceiver: "Transceiver",
  rack: "Rack",
  tray: "Tray",
  shelf: "Shelf",
  rail: "Rails",
  pdu: "PDU",
  cord: "Cord",
  tie: "Ties",
  connector: "Plug",
  container: "Container",
  labour: "Labour",
  label: "Label",
};

export function bomColumns(bom: Bom, use: Map<number, number> | null): Column[] {
  const line = (row: number) => bom.lines[row]!;
  const amount = (value: number) => formatShort(value, 1);
  return [
    {
      id: "category",
      title: "Kind",
      width: 84,
      text: (row) => CATEGORIES[line(row).category] ?? line(row).category,
    },
    { id: "sku", title: "SKU", width: 130, text: (row) => line(row).sku },
    { id: "name", title: "Part", width: 200, text: (row) => line(row).name },
    {
      id: "length",
      title: "Length",
      width: 64,
      align: "end",
      text: (row) => (line(row).length_metres === null ? "" : formatMetres(line(row).length_metres)),
      sort: (row) => line(row).length_metres ?? null,
    },
    { id: "colour", title: "Colour", width: 72, text: (row) => line(row).colour ?? "" },
    ...(use
      ? [
          {
            id: "use",
            title: "Selected",
            width: 72,
            align: "end" as const,
            text: (row: number) => formatCount(use.get(row) ?? 0),
            sort: (row: number) => use.get(row) ?? 0,
          },
        ]
      : []),
    {
      id: "quantity",
      title: "Quantity",
      width: 76,
      align: "end",
      text: (row) => amount(line(row).quantity),
      sort: (row) => line(row).quantity,
    },
    {
      id: "spares",
      title: "Spares",
      width: 60,
      align: "end",
      text: (row) => (line(row).spares ? `+${amount(line(row).spares)}` : ""),
      sort: (row) => line(row).spares,
    },
    { id: "unit", title: "Unit", width: 48, text: (row) => line(row).unit },
    {
      id: "price",
      title: "Unit price",
      width: 80,
      align: "end",
      text: (row) =>
        line(row).unit_price_usd === null ? "no price" : formatMoney(line(row).unit_price_usd, bom.currency),
      sort: (row) => line(row).unit_price_usd ?? null,
    },
    {
      id: "total",
      title: "Total",
      width: 88,
      align: "end",
      text: (row) => formatMoney(line(row).total_usd, bom.currency),
      sort: (row) => line(row).total_usd ?? null,
    },
    {
      id: "weight",
      title: "Weight",
      width: 72,
      align: "end",
      text: (row) => formatKilograms(line(row).weight_kg),
      sort: (row) => line(row).weight_kg ?? null,
    },
    {
      id: "basis",
      title: "Basis",
      width: 84,
      text: (row) => line(row).basis,
      render: (row) => <BasisBadge basis={line(row).basis} />,
    },
    { id: "number", title: "Part number", width: 110, text: (row) => line(row).part_number },
    { id: "supplier", title: "Supplier", width: 100, text: (row) => line(row).supplier },
    {
      id: "lead",
      title: "Lead time",
      width: 80,
      align: "end",
      text: (row) => {
        const days = line(row).lead_time_days;
        return days === null ? "" : plural(days, "day");
      },
      sort: (row) => line(row).lead_time_days,
    },
    { id: "source", title: "Source", width: 160, text: (row) => line(row).source },
  ];
}

export function rackColumns(model: PlanModel): Column[] {
  const { racks } = model.scene;
  const number = (
    id: string,
    title: string,
    values: readonly (number | null)[],
    format = formatCount,
    width = 68,
  ): Column => ({
    id,
    title,
    width,
    align: "end",
    text: (row) => format(values[row]),
    sort: (row) => values[row] ?? null,
  });
  return [
    { id: "rack", title: "Rack", width: 60, text: (row) => racks.name[row]! },
    { id: "group", title: "Group", width: 130, text: (row) => racks.group_label[row] ?? "" },
    number("row", "Row", racks.row, formatCount, 48),
    { id: "facing", title: "Facing", width: 60, text: (row) => racks.facing[row] ?? "" },
    number("x", "x", racks.x_metres, formatMetres, 56),
    number("y", "y", racks.y_metres, formatMetres, 56),
    number("used", "U used", racks.units_used),
    number("units", "U", racks.units, formatCount, 44),
    number("servers", "Servers", racks.servers),
    number("switches", "Switches", racks.switches),
    number("leaving", "Cables leaving", racks.cables_leaving, formatCount, 100),
    number("power", "Power", racks.power_watts, formatWatts, 76),
    number("weight", "Weight", racks.weight_kg, formatKilograms, 76),
  ];
}

/**
 * Power by rack: its share of the plan, per unit in use, and the reserve below the limit, if one is
 * set.
 */
export function powerColumns(model: PlanModel, limitWatts: number | null): Column[] {
  const { racks } = model.scene;
  const total = racks.power_watts.reduce((sum, watts) => sum + watts, 0);
  const watts = (row: number) => racks.power_watts[row] ?? 0;
  const perUnit = (row: number) => (racks.units_used[row] ? watts(row) / racks.units_used[row]! : 0);
  const columns: Column[] = [
    { id: "rack", title: "Rack", width: 70, text: (row) => racks.name[row]! },
    {
      id: "servers",
      title: "Servers",
      width: 70,
      align: "end",
      text: (row) => formatCount(racks.servers[row]),
      sort: (row) => racks.servers[row]!,
    },
    {
      id: "switches",
      title: "Switches",
      width: 70,
      align: "end",
      text: (row) => formatCount(racks.switches[row]),
      sort: (row) => racks.switches[row]!,
    },
    {
      id: "power",
      title: "Power",
      width: 90,
      align: "end",
      text: (row) => `${formatNumber(watts(row))}\u00a0W`,
      sort: watts,
    },
    {
      id: "share",
      title: "Share",
      width: 70,
      align: "end",
      text: (row) => formatPercent(total > 0 ? watts(row) / total : null, 1),
      sort: watts,
    },
    {
      id: "per-unit",
      title: "Per U in use",
      width: 90,
      align: "end",
      text: (row) => formatWatts(perUnit(row)),
      sort: perUnit,
    },
  ];
  if (limitWatts !== null)
    columns.push({
      id: "room",
      title: "Room to limit",
      width: 110,
      align: "end",
      text: (row) => `${formatNumber(limitWatts - watts(row))}\u00a0W`,
      sort: (row) => limitWatts - watts(row),
    });
  return columns;
}
