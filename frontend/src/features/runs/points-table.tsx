import { useMemo, useState } from "react";
import type { Experiment } from "@/api/types";
import { Block } from "@/shared/runs/block";
import { FAILURE_WORDS, type Metric, type Point, ratioText, topologyNames } from "@/shared/runs/run-points";
import { type Column, DataTable } from "@/ui/data-table";
import type { SortBy } from "@/ui/table-order";
import { formatCount, formatShare } from "@/units";
import styles from "./runs.module.css";

/** Every point of a run, as it comes; choosing one shows its numbers and its links. */
export function PointsTable({
  experiment,
  points,
  metrics,
  shown,
  onShow,
  total,
}: {
  experiment: Experiment;
  points: readonly Point[];
  metrics: readonly Metric[];
  shown: number;
  onShow: (point: number) => void;
  total: number;
}) {
  const [sort, setSort] = useState<SortBy | null>(null);
  const names = useMemo(() => topologyNames(experiment), [experiment]);
  const columns = useMemo<Column[]>(() => {
    const at = (row: number) => points[row]!;
    return [
      {
        id: "point",
        title: "Point",
        width: 56,
        align: "end",
        text: (row) => formatCount(at(row).point),
        sort: (row) => at(row).point,
      },
      { id: "topology", title: "Topology", width: 180, text: (row) => names[at(row).topology] ?? "" },
      {
        id: "failure",
        title: "Failed",
        width: 128,
        text: (row) =>
          at(row).kind ? `${ratioText(at(row).ratio)} of ${FAILURE_WORDS[at(row).kind!]}` : "–",
        sort: (row) => at(row).ratio ?? 0,
      },
      {
        id: "seed",
        title: "Seed",
        width: 64,
        align: "end",
        text: (row) => String(at(row).seed),
        sort: (row) => at(row).seed,
      },
      ...metrics.map(
        (metric): Column => ({
          id: metric.id,
          title: metric.short,
          width: 96,
          align: "end",
          text: (row) => {
            const value = metric.of(at(row).result);
            return value === null ? "–" : metric.format(value, at(row).result);
          },
          sort: (row) => metric.of(at(row).result),
        }),
      ),
      { id: "routing", title: "Routing", width: 100, text: (row) => at(row).result.routing },
    ];
  }, [points, metrics, names]);
  const rows = useMemo(() => points.map((_, row) => row), [points]);
  return (
    <Block label="Points" aside={formatShare(points.length, total)}>
      <div className={styles.table}>
        <DataTable
          label="Points of the run"
          columns={columns}
          rows={rows}
          sort={sort}
          onSort={setSort}
          isSelected={(row) => points[row]?.point === shown}
          onActivate={(row) => onShow(points[row]!.point)}
          empty="No results yet."
        />
      </div>
    </Block>
  );
}
