/** A limit of the container or room in words. */
import type { components } from "@/api/schema";
import { formatKilograms, formatShort, formatWatts } from "@/units";

export type SiteLimit = components["schemas"]["SiteLimit"];

export interface LimitWords {
  look: "pass" | "warning" | "error" | "info";
  text: string;
  /** The source of the limit, and its reliability. */
  stated: string;
}

export function siteLimitWords(one: SiteLimit): LimitWords {
  const value = `${one.at_least ? "at least " : ""}${amount(one.value, one.unit)}`;
  const takes = `${one.place}: ${one.title} ${value}`;
  if (one.limit === null) return { look: "info", text: takes, stated: "No limit stated; not checked." };
  const whose =
    one.limit === one.usual ? `From the catalog (${one.basis}): ${one.source}` : "Stated by the plan.";
  return {
    look: one.over === 0 ? "pass" : one.quantity === "gross_mass" ? "error" : "warning",
    text: `${takes}, limit ${amount(one.limit, one.unit)}.`,
    stated: whose,
  };
}

function amount(value: number, unit: string): string {
  if (unit === "W") return formatWatts(value);
  return unit === "kg" ? formatKilograms(value) : `${formatShort(value, 0)}\u00a0kg/m²`;
}
