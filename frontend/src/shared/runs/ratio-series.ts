/** From the curves of a sweep to the lines of a chart. */
import type { LineSeries } from "@/charts";
import { familyLooks } from "@/shared/plans/family-looks";
import type { Curve } from "./run-points";

/**
 * Its values at each ratio as a line, the seeds as the band around it. A ratio without a value yet,
 * or at all, is a gap.
 */
export function ratioSeries(
  curves: readonly Curve[],
  names: readonly string[],
  ratios: readonly number[],
): LineSeries[] {
  const skipped = (from: number, to: number) => ratios.some((ratio) => from < ratio && ratio < to);
  const looks = familyLooks(names);
  return names.map((label, topology) => {
    const curve = curves.find((c) => c.topology === topology);
    const points = curve?.points ?? [];
    return {
      id: String(topology),
      label,
      look: looks[topology]!,
      points: points.map(({ ratio, mean }, at) => ({
        x: ratio,
        y: mean,
        ...(at > 0 && skipped(points[at - 1]!.ratio, ratio) && { gap: true }),
      })),
      ...(points.some(({ seeds }) => seeds > 1) && {
        band: points.map(({ ratio, low, high }) => ({ x: ratio, low, high })),
      }),
    };
  });
}
