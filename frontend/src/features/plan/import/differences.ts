/** The differences between a plan in a file and the same spec planned now. */
import type { Summary } from "@/api/types";
import { formatCount, formatMetres } from "@/units";
import type { PlanFile } from "./plan-file";

/** Totals that differ, in one sentence; if none does, what else can be the cause. */
export function differences(made: NonNullable<PlanFile["made"]>, now: Summary): string {
  const before = made.summary;
  const rows: [title: string, was: string, is: string][] = [
    ["servers", formatCount(before.counts?.servers), formatCount(now.counts.servers)],
    ["cables", formatCount(before.counts?.cables), formatCount(now.counts.cables)],
    ["cable length", formatMetres(before.cable_metres), formatMetres(now.cable_metres)],
  ];
  const changes = rows
    .filter(([, was, is]) => was !== is)
    .map(([title, was, is]) => `${title} ${was} → ${is}`);
  return changes.length > 0
    ? `Changed: ${changes.join(", ")}.`
    : `Its totals are the same; prices or positions of parts differ, or the engine does (file: ${made.engine}).`;
}
