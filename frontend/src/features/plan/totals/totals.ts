/** The numbers of a plan as rows with a direction, from its summary alone. */
import type { Bom, Summary } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import type { Better } from "@/ui/marks";
import {
  formatCount,
  formatGbps,
  formatKilograms,
  formatMetres,
  formatMinutes,
  formatPercent,
  formatWatts,
  type Maybe,
  moneyIn,
} from "@/units";

export interface TotalRow {
  id: string;
  title: string;
  value: number | null;
  format: (value: Maybe) => string;
  better: Better;
  /** Parts of it have no price or weight. */
  atLeast?: boolean;
  /** The currency of an amount: amounts in different currencies have no difference. */
  currency?: string;
}

/** Hours alone once there are many: minutes then only fill the column. */
const formatLabour = (minutes: Maybe): string =>
  typeof minutes === "number" && Math.abs(minutes) >= 600
    ? `${formatCount(minutes / 60)}\u00a0h`
    : formatMinutes(minutes);

export function totalsOf(summary: Summary): TotalRow[] {
  const row = (
    id: string,
    title: string,
    value: number | null | undefined,
    format: (value: Maybe) => string,
    better: Better,
    atLeast = false,
  ): TotalRow => ({ id, title, value: value ?? null, format, better, atLeast });
  return [
    row("servers", "Servers", summary.counts.servers, formatCount, "neither"),
    row("switches", "Switches", summary.counts.switches, formatCount, "less"),
    row("cables", "Cables", summary.counts.cables, formatCount, "less"),
    row("racks", "Racks", summary.counts.racks, formatCount, "less"),
    row("cable-length", "Total cable length", summary.cable_metres, formatMetres, "less"),
    row("longest", "Longest routed length", summary.longest_route_metres, formatMetres, "less"),
    row("longest-order", "Longest order length", summary.longest_cable_metres, formatMetres, "less"),
    {
      ...row(
        "cost",
        "Cost",
        summary.cost_usd.total,
        moneyIn(summary.currency),
        "less",
        summary.cost_usd.at_least,
      ),
      currency: summary.currency,
    },
    row("power", "Power", summary.power_watts.total, formatWatts, "less"),
    row("weight", "Weight", summary.weight_kg.total, formatKilograms, "less", summary.weight_kg.at_least),
    row("tray", "Peak tray fill", summary.tray.peak_fill, formatPercent, "less"),
    row("labour", "Cabling labour", summary.labour_minutes, formatLabour, "less"),
    row("bisection", "Bisection", summary.bisection_gbps, formatGbps, "more"),
  ];
}

/**
 * The value of a row before, if the two can be compared; amounts in different currencies cannot.
 */
export const earlierValue = (row: TotalRow, was: TotalRow | undefined): number | null | undefined =>
  was?.currency === row.currency ? was?.value : undefined;

/** The cable with the longest route, the first of several; -1 in a plan without cables. */
export function longestCable({ cables }: PlanModel): number {
  let longest = -1;
  for (let cable = 0; cable < cables.count; cable++)
    if (longest < 0 || cables.lengthMm[cable]! > cables.lengthMm[longest]!) longest = cable;
  return longest;
}

/** Cost by kind, the most expensive first, without kinds that cost nothing. */
export function costParts(summary: Summary): { title: string; amount: number }[] {
  const { servers, switches, nics, cables, transceivers, racks, trays, labour, ...more } = summary.cost_usd;
  return [
    { title: "Servers", amount: servers },
    { title: "Switches", amount: switches },
    { title: "NICs", amount: nics },
    { title: "Cables", amount: cables },
    { title: "Transceivers", amount: transceivers },
    { title: "Racks", amount: racks },
    { title: "Trays", amount: trays },
    { title: "Labour", amount: labour },
    // Sums of the parts above are not parts themselves.
    ...Object.entries(more)
      .filter(([name, amount]) => typeof amount === "number" && name !== "network" && name !== "total")
      .map(([name, amount]) => ({ title: name[0]!.toUpperCase() + name.slice(1), amount: amount as number })),
  ]
    .filter((part) => part.amount > 0)
    .sort((a, b) => b.amount - a.amount);
}

/** Share of the priced lines' money that rests on prices nobody published, 0..1. */
export function assumedShare(bom: Bom): number {
  let [all, assumed] = [0, 0];
  for (const line of bom.lines) {
    all += line.total_usd ?? 0;
    if (line.basis === "assumed") assumed += line.total_usd ?? 0;
  }
  return all > 0 ? assumed / all : 0;
}
