/** Bands of a document as series of charts. */
import type { LineSeries } from "@/charts";
import type { Band, LifeDocument } from "./use-life";

const years = (months: readonly number[]) => months.map((month) => month / 12);

/** The median of each policy with its band from 5 to 95 %. */
export function bandSeries(
  months: readonly number[],
  policies: readonly { title: string; band: Band }[],
): LineSeries[] {
  const xs = years(months);
  return policies.map(({ title, band }, index) => ({
    id: `${index}`,
    label: title,
    look: index,
    points: xs.map((x, at) => ({ x, y: band.median[at]! })),
    band: xs.map((x, at) => ({ x, low: band.p5[at]!, high: band.p95[at]! })),
  }));
}

/**
 * By policy, the median of the computed values at each month that has any, from which the curve is
 * interpolated.
 */
export function computedSeries(document: LifeDocument): LineSeries[] {
  return document.policies.flatMap(({ title, computed_abt }, index) => {
    const byMonth = new Map<number, number[]>();
    for (const [month, gbps] of computed_abt) byMonth.set(month, [...(byMonth.get(month) ?? []), gbps]);
    const points = [...byMonth].map(([month, values]) => ({
      x: month / 12,
      y: [...values].sort((a, b) => a - b)[values.length >> 1]!,
    }));
    return points.length === 0
      ? []
      : [{ id: `computed-${index}`, label: `${title}: computed`, look: index, pointsOnly: true, points }];
  });
}

/** The share of lives that have been below a floor, by policy. */
export function fallenSeries(document: LifeDocument, floor: "servers" | "abt"): LineSeries[] {
  const xs = years(document.months);
  return document.policies.map(({ title, below }, index) => ({
    id: `${index}`,
    label: title,
    look: index,
    steps: true,
    points: xs.map((x, at) => ({ x, y: below[floor].by_month[at]! })),
  }));
}
