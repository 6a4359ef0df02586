import type { CompareResponse } from "@/api/types";
import { csvOf } from "@/ui/table-order";

export function compareCsv(data: CompareResponse): string {
  return csvOf(
    ["Group", "Metric", "Unit", ...data.plans.map((plan) => plan.name)],
    data.rows.map((row) => [
      row.group,
      row.title,
      row.unit,
      ...row.values.map((v) => (v === null ? "" : String(v))),
    ]),
  );
}
