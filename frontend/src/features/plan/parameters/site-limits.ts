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

export function siteLimitWords(siteLimit: SiteLimit): LimitWords {
  const value = `${siteLimit.at_least ? "at least " : ""}${amount(siteLimit.value, siteLimit.unit)}`;
  const takes = `${siteLimit.place}: ${siteLimit.title} ${value}`;
  if (siteLimit.limit === null) return { look: "info", text: takes, stated: "No limit stated; not checked." };
  const whose =
    siteLimit.limit === siteLimit.usual
      ? `From the catalog (${siteLimit.basis}): ${siteLimit.source}`
      : "Stated by the plan.";
  return {
    look: siteLimit.over === 0 ? "pass" : siteLimit.quantity === "gross_mass" ? "error" : "warning",
    text: `${takes}, limit ${amount(siteLimit.limit, siteLimit.unit)}.`,
    stated: whose,
  };
}

function amount(value: number, unit: string): string {
  if (unit === "W") return formatWatts(value);
  return unit === "kg" ? formatKilograms(value) : `${formatShort(value, 0)}\u00a0kg/m²`;
}
