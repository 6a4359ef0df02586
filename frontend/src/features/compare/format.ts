/** A compared number in its own unit, and the difference of two. */
import {
  formatCount,
  formatDelta,
  formatGbps,
  formatKilograms,
  formatMetres,
  formatMinutes,
  formatPercent,
  formatPoints,
  formatShort,
  formatWatts,
  gbpsLike,
  kilogramsLike,
  type Maybe,
  moneyIn,
} from "@/units";

/** Whether the number is a share of something, shown in per cent. */
export const isShare = (metric: string, unit: string): boolean =>
  unit === "share" || metric.endsWith("_fill");

/**
 * The difference of a value from the base's: for shares in percentage points, for other quantities
 * in their own unit and relative to the base. Percentage points are the difference of the rounded
 * shares that are shown. Empty if there is no difference to show.
 */
export function differenceText(metric: string, unit: string, value: Maybe, base: Maybe): string {
  if (typeof value !== "number" || typeof base !== "number") return "";
  if (isShare(metric, unit)) return formatPoints(value, base, 1);
  if (value === base) return "";
  const like = Math.max(Math.abs(value), Math.abs(base));
  const own = formatDelta(
    value - base,
    unit === "kg" ? kilogramsLike(like) : unit === "Gb/s" ? gbpsLike(like) : formatterOf(metric, unit),
  );
  if (base === 0) return own;
  return `${own} (${formatDelta(value / base - 1, (share) => formatPercent(share))})`;
}

/** Whether a unit is a currency: the code of ISO 4217 that the base's amounts are in. */
export const isMoney = (unit: string): boolean => /^[A-Z]{3}$/.test(unit);

export function formatterOf(metric: string, unit: string): (value: Maybe) => string {
  if (isMoney(unit)) return moneyIn(unit);
  switch (unit) {
    case "W":
      return formatWatts;
    case "kg":
      return formatKilograms;
    case "m":
      return formatMetres;
    case "min":
      return formatMinutes;
    case "Gb/s":
      return formatGbps;
    default:
      if (isShare(metric, unit)) return (share) => formatPercent(share, 1);
      return (value) =>
        typeof value === "number" && !Number.isInteger(value) ? formatShort(value, 2) : formatCount(value);
  }
}
