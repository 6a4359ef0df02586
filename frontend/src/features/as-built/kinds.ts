/** Differences in words, for tables, cards and files. */
import type { AsBuilt, AsBuiltDifference, AsBuiltEnd } from "@/api/types";
import { formatCount, formatMillimetres } from "@/units";

export type Kind = AsBuiltDifference["kind"];

/** `R07 · h00 eth0`; without a rack what the plan does not have. */
export const endText = (end: AsBuiltEnd): string =>
  `${end.rack === null ? "" : `${end.rack} · `}${end.device} ${end.port}`;

/** The kinds that occur, with their counts, for the filter. */
export function presentKinds(
  result: AsBuilt,
): { kind: Kind; title: string; meaning: string; count: number }[] {
  return result.kinds
    .map((kind) => ({ ...kind, count: result.counts[kind.kind] }))
    .filter(({ kind, count }) => kind !== "in_order" && count > 0);
}

export function lengthText({ expected, found: actual }: AsBuiltDifference): string {
  const ordered = expected ? formatMillimetres(expected.length_mm) : "";
  const measured = actual && actual.length_mm !== null ? formatMillimetres(actual.length_mm) : "";
  if (!ordered || !measured || ordered === measured) return ordered || measured;
  return `${measured} for ${ordered}`;
}

/** "28 of 32 cables in order"; with LLDP only the cables that the list covers count. */
export function summaryText(result: AsBuilt): string {
  const { in_order: good, not_covered: away } = result.counts;
  const text = `${formatCount(good)} of ${formatCount(result.cables - away)} cables in order`;
  return away > 0 ? `${text}, ${formatCount(away)} of ${formatCount(result.cables)} not covered` : text;
}
