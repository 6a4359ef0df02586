/**
 * A panel of bars for each quantity, side by side: in the same order and, for the same quantity, on
 * the same scale.
 */
import type { ThemeName } from "@/units";
import { BarChart, type BarItem } from "./bars";
import styles from "./chart.module.css";

export interface SmallMultiplesProps {
  theme: ThemeName;
  provenance: string;
  panels: readonly {
    id: string;
    title: string;
    unit: string;
    items: readonly BarItem[];
    format?: (value: number) => string;
    /** Panels with the same key share one scale. */
    scaleKey?: string;
  }[];
  /** Least width of a panel. */
  panelWidthPx?: number;
}

export function SmallMultiples({ panels, theme, provenance, panelWidthPx = 300 }: SmallMultiplesProps) {
  const domains = sharedDomains(panels);
  return (
    <div
      className={styles.panels}
      style={{ gridTemplateColumns: `repeat(auto-fill, minmax(${panelWidthPx}px, 1fr))` }}
    >
      {panels.map((panel) => (
        <BarChart
          key={panel.id}
          title={panel.title}
          itemLabel="Plan"
          valueLabel={panel.unit}
          items={panel.items}
          domain={domains.get(panel.scaleKey ?? panel.id)}
          format={panel.format}
          theme={theme}
          provenance={provenance}
        />
      ))}
    </div>
  );
}

/** Zero to the largest value of all panels with the same key. */
export function sharedDomains(panels: SmallMultiplesProps["panels"]): Map<string, readonly [number, number]> {
  const domains = new Map<string, [number, number]>();
  for (const panel of panels) {
    const key = panel.scaleKey ?? panel.id;
    const domain = domains.get(key) ?? [0, 0];
    for (const { value } of panel.items) {
      if (value === null) continue;
      domain[0] = Math.min(domain[0], value);
      domain[1] = Math.max(domain[1], value);
    }
    domains.set(key, domain);
  }
  for (const domain of domains.values()) if (domain[0] === domain[1]) domain[1] = domain[0] + 1;
  return domains;
}
