import type { ReactNode } from "react";
import type { CompareResponse } from "@/api/types";
import { SmallMultiples } from "@/charts";
import { useTheme } from "@/ui/theme";
import styles from "./compare-page.module.css";
import { formatterOf } from "./format";

/**
 * The same rows as pictures: one panel a metric, one bar a plan; parts of the cost share one scale.
 */
export default function CompareCharts({
  data,
  base,
  children,
}: {
  data: CompareResponse;
  base: number;
  /** Further charts, shown below. */
  children?: ReactNode;
}) {
  const theme = useTheme((state) => state.name);
  const provenance = `modelled · plans ${data.plans.map((plan) => plan.plan_hash.slice(0, 10)).join(", ")}`;
  const partOfCost = (metric: string) => metric.startsWith("cost_") && !/total|network/.test(metric);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={styles.charts} aria-label="Charts" tabIndex={0}>
      <SmallMultiples
        panelWidthPx={400}
        theme={theme}
        provenance={provenance}
        panels={data.rows.map((row) => {
          const format = formatterOf(row.metric, row.unit);
          return {
            id: row.metric,
            title: row.group === row.title ? row.title : `${row.group}: ${row.title}`,
            unit: row.unit,
            format,
            scaleKey: partOfCost(row.metric) ? "parts of the cost" : undefined,
            items: data.plans.map((plan, at) => ({
              id: `${at} ${plan.plan_hash}`,
              label: plan.name,
              value: row.values[at] ?? null,
              display: format(row.values[at]),
              isBase: at === base,
              basis: "modelled" as const,
            })),
          };
        })}
      />
      {children}
    </section>
  );
}
