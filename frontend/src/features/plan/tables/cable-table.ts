/** The cable schedule as columns over the model: nothing is copied per row. */
import type { Bom } from "@/api/types";
import { csrSlice, hasBreakouts, type PlanModel } from "@/scene/model";
import { breakoutText, cableLabel, placeName, portName } from "@/shared/plans/names";
import type { Column } from "@/ui/data-table";
import { cableName, formatMillimetres, formatMoney, levelShortLabel } from "@/units";

/** Price each, by part, length and colour, as the bill of materials has it. */
export function priceFinder(model: PlanModel, bom: Bom): (cable: number) => number | null {
  const prices = new Map<string, number | null>();
  for (const line of bom.lines)
    if (line.category === "cable")
      prices.set(`${line.sku}|${line.length_metres ?? ""}`, line.unit_price_usd ?? null);
  const document = model.cablesDocument;
  return (cable) => {
    const sku = document ? (model.scene.parts[document.columns.part[cable]!]?.sku ?? "") : "";
    const each = prices.get(`${sku}|${(model.cables.stockMm[cable] ?? 0) / 1000}`);
    if (each !== undefined) return each;
    const metre = prices.get(`${sku}|`);
    return metre === undefined || metre === null ? null : (metre * (model.cables.stockMm[cable] ?? 0)) / 1000;
  };
}

export function cableColumns(model: PlanModel, bom: Bom): Column[] {
  const { cables, devices, racks } = model;
  const document = model.cablesDocument;
  const price = priceFinder(model, bom);
  const sku = (row: number) => (document ? (model.scene.parts[document.columns.part[row]!]?.sku ?? "") : "");
  const route = (row: number) => document?.routes[cables.route[row]!] ?? "";
  const colour = (row: number) => document?.colours[document.columns.colour[row]!] ?? "";
  const end = (device: Uint32Array, port: Uint16Array, id: string, title: string): Column[] => [
    {
      id,
      title,
      width: 215,
      text: (row) =>
        `${placeName(model, device[row]!)} · ${devices.hosts[device[row]!]} · ${portName(model, device[row]!, port[row]!)}`,
      sort: (row) =>
        `${racks.names[devices.rack[device[row]!]!]} ${devices.unit[device[row]!]} ${devices.names[device[row]!]} ${port[row]}`,
    },
  ];
  return [
    { id: "cable", title: "Cable", width: 72, mono: true, text: (row) => cableName(row), sort: (row) => row },
    ...end(cables.aDevice, cables.aPort, "a", "A: rack-U · host name · port"),
    ...end(cables.bDevice, cables.bPort, "b", "B: rack-U · host name · port"),
    {
      id: "level",
      title: "Level",
      width: 52,
      text: (row) => levelShortLabel(cables.level[row]!),
      sort: (row) => cables.level[row]!,
    },
    { id: "route", title: "Route", width: 88, text: route },
    {
      id: "length",
      title: "Routed",
      width: 72,
      align: "end",
      text: (row) => formatMillimetres(cables.lengthMm[row]),
      sort: (row) => cables.lengthMm[row]!,
    },
    {
      id: "stock",
      title: "Order length",
      width: 96,
      align: "end",
      text: (row) => formatMillimetres(cables.stockMm[row]),
      sort: (row) => cables.stockMm[row]!,
    },
    { id: "sku", title: "SKU", width: 120, text: sku },
    ...(hasBreakouts(model)
      ? [{ id: "breakout", title: "Breakout", width: 150, text: (row: number) => breakoutText(model, row) }]
      : []),
    { id: "colour", title: "Colour", width: 72, text: colour },
    {
      id: "cost",
      title: "Unit price",
      width: 80,
      align: "end",
      text: (row) => formatMoney(price(row), bom.currency),
      sort: price,
    },
    { id: "label", title: "Label", width: 220, mono: true, text: (row) => cableLabel(model, row) },
  ];
}

/** Bill of materials lines that the selection uses, and how many of each. */
export function bomUse(
  model: PlanModel,
  bom: Bom,
  cables: Uint32Array | null,
  devicesOf: Iterable<number>,
): Map<number, number> {
  const document = model.cablesDocument;
  const use = new Map<number, number>();
  const byKey = new Map<string, number>();
  bom.lines.forEach((line, at) => {
    if (line.category === "cable")
      byKey.set(`${line.sku}|${line.length_metres ?? ""}|${line.colour ?? ""}`, at);
    else if (!byKey.has(line.sku)) byKey.set(line.sku, at);
  });
  const add = (at: number | undefined) => at !== undefined && use.set(at, (use.get(at) ?? 0) + 1);
  if (cables && document)
    for (const cable of cables) {
      // A breakout is one piece of the bill.
      if (model.cables.leg[cable]! > 1) continue;
      const sku = model.scene.parts[document.columns.part[cable]!]?.sku ?? "";
      const colour = document.colours[document.columns.colour[cable]!] ?? "";
      const metres = model.cables.stockMm[cable]! / 1000;
      add(
        byKey.get(`${sku}|${metres}|${colour}`) ??
          byKey.get(`${sku}|${metres}|`) ??
          byKey.get(`${sku}||${colour}`),
      );
    }
  for (const device of devicesOf)
    add(byKey.get(model.scene.parts[model.scene.devices.part[device]!]?.sku ?? ""));
  return use;
}

/** All devices of some racks. */
export function devicesIn(model: PlanModel, racks: Iterable<number>): number[] {
  const devices: number[] = [];
  for (const rack of racks) devices.push(...csrSlice(model.rackDevices, rack));
  return devices;
}
