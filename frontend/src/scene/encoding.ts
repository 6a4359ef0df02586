/**
 * Colour of a rack by one of its quantities: values, domain, legend. One ramp, never green to red.
 */
import {
  formatCount,
  formatKilograms,
  formatNumber,
  formatWatts,
  RAMP_STEPS,
  rampStep,
  UNKNOWN,
} from "@/units";
import type { PlanModel } from "./model";
import type { ColourRef } from "./primitives";
import { COLOUR_BY_TITLES, type ColourBy } from "./view";

export interface ColourScale {
  by: ColourBy;
  title: string;
  /**
   * "flat" when every rack has the same value (then the ramp would show noise), "none" without any
   * value.
   */
  kind: "ramp" | "flat" | "categories" | "none";
  /** The values of the ramp: up to the largest value, from the smallest one or below. */
  domain: readonly [number, number];
  /** Legend marks from low to high. */
  stops: readonly { colour: ColourRef; text: string }[];
  /** Per rack; NaN where unknown. */
  values: Float64Array;
  colourOf(rack: number): ColourRef;
  /** Text colour that reads on `colourOf(rack)`. */
  inkOf(rack: number): ColourRef;
  /** With unit: "8.6 kW". */
  text(rack: number): string;
  /** Without unit, for narrow racks: "8.6". */
  short(rack: number): string;
  /** Colour of any value on this scale, for rows and groups of racks. */
  colourOfValue(value: number): ColourRef;
}

/** Below this relative spread all racks count as equal. */
const FLAT_SPREAD = 0.005;
const LEGEND_STOPS = 5;
/**
 * The ramp covers at least this share of the largest value, so that small differences look small.
 */
const LEAST_SPREAD = 0.25;

export function colourScale(model: PlanModel, by: ColourBy): ColourScale {
  const values = valuesOf(model, by);
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const known = low <= high;
  const groups = Math.max(1, model.groups.length);
  const kind = !known
    ? "none"
    : by === "group"
      ? "categories"
      : high - low <= Math.abs(high) * FLAT_SPREAD
        ? "flat"
        : "ramp";
  if (kind === "ramp") low = Math.min(low, high * (1 - LEAST_SPREAD));
  const coloured = kind === "ramp" || kind === "categories";
  const stepOf = (value: number): number => {
    if (kind === "categories")
      return groups === 1 ? 0 : Math.round((value / (groups - 1)) * (RAMP_STEPS - 1));
    return rampStep((value - low) / (high - low));
  };
  const colourOfValue = (value: number): ColourRef =>
    Number.isFinite(value) && coloured ? `ramp:${stepOf(value)}` : "rack";
  const format = formatterOf(model, by);
  return {
    by,
    title: COLOUR_BY_TITLES[by],
    kind,
    domain: known ? [low, high] : [0, 0],
    stops: stopsOf(kind, model, low, high, colourOfValue, format.long),
    values,
    colourOf: (rack) => colourOfValue(values[rack]!),
    inkOf: (rack) => {
      const value = values[rack]!;
      return Number.isFinite(value) && coloured ? `onramp:${stepOf(value)}` : "ink";
    },
    text: (rack) => format.long(values[rack]!),
    short: (rack) => format.short(values[rack]!),
    colourOfValue,
  };
}

function valuesOf(model: PlanModel, by: ColourBy): Float64Array {
  const { racks } = model.scene;
  const count = model.racks.count;
  const take = (column: readonly (number | null)[]) =>
    Float64Array.from({ length: count }, (_, i) => column[i] ?? Number.NaN);
  switch (by) {
    case "power":
      return take(racks.power_watts);
    case "weight":
      return take(racks.weight_kg);
    case "units":
      return take(racks.units_used);
    case "cables":
      return take(racks.cables_leaving);
    case "group": {
      const place = new Map(model.groups.map((group, index) => [group.id, index]));
      return Float64Array.from(model.racks.group, (id) => place.get(id) ?? Number.NaN);
    }
  }
}

function formatterOf(model: PlanModel, by: ColourBy): { long(v: number): string; short(v: number): string } {
  switch (by) {
    case "power":
      return { long: formatWatts, short: (v) => formatNumber(v / 1000, 1) };
    case "weight":
      return { long: formatKilograms, short: (v) => formatNumber(v, 0) };
    case "units":
      return { long: (v) => (Number.isFinite(v) ? `${formatCount(v)}\u00a0U` : UNKNOWN), short: formatCount };
    case "cables":
      return { long: formatCount, short: formatCount };
    case "group": {
      const label = (v: number) => model.groups[v]?.label ?? UNKNOWN;
      return { long: label, short: label };
    }
  }
}

function stopsOf(
  kind: ColourScale["kind"],
  model: PlanModel,
  low: number,
  high: number,
  colour: (value: number) => ColourRef,
  text: (value: number) => string,
): ColourScale["stops"] {
  if (kind === "none") return [];
  if (kind === "flat") return [{ colour: colour(low), text: text(low) }];
  if (kind === "categories")
    return model.groups.map((group, index) => ({ colour: colour(index), text: group.label }));
  return Array.from({ length: LEGEND_STOPS }, (_, i) => {
    const value = low + ((high - low) * i) / (LEGEND_STOPS - 1);
    return { colour: colour(value), text: text(value) };
  });
}
