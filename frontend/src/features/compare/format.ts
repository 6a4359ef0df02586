/** A compared number in its own unit. */
import {
  formatCount,
  formatGbps,
  formatKilograms,
  formatMetres,
  formatMinutes,
  formatPercent,
  formatShort,
  formatUsd,
  formatWatts,
  type Maybe,
} from "@/units";

export function formatterOf(metric: string, unit: string): (value: Maybe) => string {
  switch (unit) {
    case "USD":
      return formatUsd;
    case "W":
      return formatWatts;
    case "kg":
      return formatKilograms;
    case "m":
      return formatMetres;
    case "min":
      return formatMinutes;
    case "share":
      return (share) => formatPercent(share, 1);
    case "Gbit/s":
      return formatGbps;
    default:
      if (metric.endsWith("_fill")) return formatPercent;
      return (value) =>
        typeof value === "number" && !Number.isInteger(value) ? formatShort(value, 2) : formatCount(value);
  }
}
