/**
 * A quantity of every link as colour and width: one sequential ramp, never green to red, and wider
 * where it is more, so that colour is not the only cue. Links that carry nothing are dashed in the
 * grid's colour.
 */
import { formatPercent, RAMP_STEPS } from "@/units";
import type { HitItem } from "./hit";
import { csrSlice, type PlanModel } from "./model";
import type { ColourRef, StrokeStyle } from "./primitives";
import { bundlesOfTray, idsOfItem } from "./selection";
import type { LineStyle } from "./strokes";

export interface LinkHeat {
  /** The name of the values: "Flows on the fuller direction". */
  title: string;
  /** Indexed by cable; NaN for cables without a value, which are not drawn. */
  values: ArrayLike<number>;
  /** The range of the ramp; if not given, from the minimum to the maximum of the values. */
  domain?: readonly [number, number];
  format: (value: number) => string;
}

/** Classes that the ramp is cut into, above the class of links that carry nothing. */
export const HEAT_CLASSES = 10;
const WIDEST = 2.4;

export interface HeatScale {
  /** Least and most of what links that carry something carry; null when none does. */
  domain: readonly [number, number] | null;
  /** 0 for a link that carries nothing, else 1 to `HEAT_CLASSES`. */
  classOf: (cable: number) => number;
  idle: number;
}

const SCALES = new WeakMap<LinkHeat, HeatScale>();

export function heatScale(heat: LinkHeat): HeatScale {
  const known = SCALES.get(heat);
  if (known) return known;
  let [low, high, idle] = [Infinity, -Infinity, 0];
  for (let cable = 0; cable < heat.values.length; cable++) {
    const value = heat.values[cable]!;
    if (!(value > 0)) {
      if (value <= 0) idle++;
      continue;
    }
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (heat.domain && low <= high) [low, high] = heat.domain;
  const spread = high - low;
  const scale: HeatScale = {
    domain: low <= high ? [low, high] : null,
    idle,
    classOf: (cable) => {
      const value = heat.values[cable]!;
      if (!(value > 0)) return 0;
      // One value everywhere is the middle of the ramp: neither cold nor hot.
      if (spread === 0) return Math.ceil(HEAT_CLASSES / 2);
      return 1 + Math.min(HEAT_CLASSES - 1, Math.max(0, Math.floor(((value - low) / spread) * HEAT_CLASSES)));
    },
  };
  SCALES.set(heat, scale);
  return scale;
}

export function heatColour(heatClass: number): ColourRef {
  if (heatClass <= 0) return "border";
  return `heat:${Math.round(((heatClass - 1) / (HEAT_CLASSES - 1)) * (RAMP_STEPS - 1))}`;
}

/** Text that reads on `heatColour`. */
export function heatInk(heatClass: number): ColourRef {
  const ground = heatColour(heatClass);
  return ground.startsWith("heat:") ? (`on${ground}` as ColourRef) : "ink";
}

/**
 * `widthPx` is that of the least loaded; the class of a cable is its stroke, so the fullest are
 * painted last.
 */
export function heatStyle(heat: LinkHeat, widthPx: number): LineStyle {
  const { classOf } = heatScale(heat);
  const strokes: StrokeStyle[] = Array.from({ length: HEAT_CLASSES + 1 }, (_, heatClass) =>
    heatClass === 0
      ? { colour: heatColour(0), width: widthPx, dashPx: [2, 3] }
      : {
          colour: heatColour(heatClass),
          width: widthPx * (1 + ((WIDEST - 1) * (heatClass - 1)) / (HEAT_CLASSES - 1)),
        },
  );
  return { strokes, of: classOf };
}

/** Cables from the least to the most loaded, as many of the most loaded as `limit` allows. */
export function coldToHot(heat: LinkHeat, cables: Uint32Array, limit: number): Uint32Array {
  const order = cables
    .filter((cable) => !Number.isNaN(heat.values[cable]))
    .sort((a, b) => heat.values[a]! - heat.values[b]! || a - b);
  return order.subarray(Math.max(0, order.length - limit));
}

/** The fullest of the cables of an item: its index, or -1 when the item has none. */
export function hottestOf(model: PlanModel, heat: LinkHeat, item: HitItem): number {
  const { kind, id } = item;
  let hottest = -1;
  const take = (cables: Iterable<number>) => {
    for (const cable of cables)
      if (!Number.isNaN(heat.values[cable]) && (hottest < 0 || heat.values[cable]! > heat.values[hottest]!))
        hottest = cable;
  };
  if (kind === "cable") take([id]);
  else if (kind === "device") take(csrSlice(model.deviceCables, id));
  else if (kind === "rack")
    for (const device of csrSlice(model.rackDevices, id)) take(csrSlice(model.deviceCables, device));
  else if (kind === "bundle")
    for (const bundle of idsOfItem(model, item)) take(csrSlice(model.bundleCables, bundle));
  else if (kind === "tray")
    for (const bundle of bundlesOfTray(model, id)) take(csrSlice(model.bundleCables, bundle));
  return hottest;
}

/** The class of an item's fullest link; 0 for an item without links. */
export function heatClassOf(model: PlanModel, heat: LinkHeat, item: HitItem): number {
  const hottest = hottestOf(model, heat, item);
  return hottest < 0 ? 0 : heatScale(heat).classOf(hottest);
}

/** One line for a tooltip; empty if there is no value. */
export function describeHeat(model: PlanModel, heat: LinkHeat, item: HitItem): string {
  const hottest = hottestOf(model, heat, item);
  const { domain } = heatScale(heat);
  if (hottest < 0 || !domain) return "";
  const value = heat.values[hottest]!;
  const subject = item.kind === "cable" ? heat.title : `${heat.title}, most loaded link`;
  const most = heat.domain ? heat.format(domain[1]) : "maximum";
  return `${subject}: ${heat.format(value)} (${formatPercent(value / domain[1])} of ${most})`;
}
