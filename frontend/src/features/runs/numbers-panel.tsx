/**
 * One point in numbers: throughput, flows, paths, the load of each level, and flows in time where
 * they end.
 */
import { useMemo } from "react";
import { BarChart, LineChart } from "@/charts";
import { useCrosshair } from "@/charts/crosshair";
import { Block } from "@/shared/runs/block";
import block from "@/shared/runs/block.module.css";
import { type Answer, FAILURE_WORDS, type Point, ratioText } from "@/shared/runs/run-points";
import { useTheme } from "@/ui/theme";
import { formatCount, formatGbps, formatPercent, formatShort } from "@/units";
import { failedTiles } from "./failed-tiles";
import { type Tile, Tiles } from "./tiles";

/** "switches 10 %, seed 7": which point of the sweep this is. */
export function pointText({ kind, ratio, seed }: Pick<Point, "kind" | "ratio" | "seed">): string {
  const failed = kind === null ? "" : `${ratioText(ratio)} of ${FAILURE_WORDS[kind]} failed, `;
  return `${failed}seed ${seed}`;
}

export function NumbersPanel({
  point,
  title,
  provenance,
}: {
  point: Point;
  title: string;
  provenance: string;
}) {
  const theme = useTheme((state) => state.name);
  const { result } = point;
  const levels = Object.values(result.link_flows_by_level);
  const from = `${provenance} · ${title}, ${pointText(point)}`;
  return (
    <Block
      label="Results of one point"
      title={title}
      aside={`${pointText(point)} · routing ${result.routing}`}
    >
      <Tiles tiles={tilesOf(point)} />
      <div className={block.multiples}>
        <BarChart
          title="Flows on the most loaded link of each level"
          theme={theme}
          provenance={from}
          itemLabel="Level"
          valueLabel="flows"
          format={formatCount}
          items={levels.flatMap(({ label, max, mean }) =>
            max === null || mean === null
              ? []
              : [
                  {
                    id: label,
                    label,
                    value: max,
                    display: `${formatCount(max)}, mean ${formatShort(mean, mean >= 100 ? 0 : 1)}`,
                    basis: "modelled" as const,
                  },
                ],
          )}
        />
        <CompletionChart result={result} provenance={from} />
      </div>
    </Block>
  );
}

function tilesOf(point: Point): Tile[] {
  const { result } = point;
  const { flows, dropped_flows, dropped, maxmin, completion, path_hops, failures } = result;
  const all = flows + dropped_flows;
  return [
    { name: "Aggregate bottleneck throughput", value: formatGbps(result.abt_gbps) },
    {
      name: "Flows carried",
      value: formatCount(flows),
      note: dropped_flows > 0 ? ` ${formatPercent(flows / all, 1)} of ${formatCount(all)}` : " all",
    },
    ...(dropped_flows > 0
      ? [
          {
            name: "Flows dropped",
            value: formatCount(dropped_flows),
            note: ` ${formatCount(dropped.end_failed)} at failed ends, ${formatCount(dropped.no_path)} without a path`,
          },
        ]
      : []),
    ...(flows > 0
      ? [
          {
            name: "Path length",
            value: `${formatShort(path_hops.mean, 2)} ${path_hops.unit}`,
            note: ` mean, at most ${formatShort(path_hops.max, 0)}`,
          },
        ]
      : []),
    { name: "Most loaded link", value: `${formatCount(result.max_link_flows)} flows` },
    ...(maxmin
      ? [
          {
            name: "Max-min fair rate per flow",
            value: formatGbps(maxmin.median_gbps),
            note: ` median, ${formatGbps(maxmin.min_gbps)} to ${formatGbps(maxmin.max_gbps)}`,
          },
          { name: "Sum of fair rates", value: formatGbps(maxmin.total_gbps) },
        ]
      : []),
    ...(completion
      ? [{ name: "Last flow completes", value: `after ${formatShort(completion.last_secs, 2)}\u00a0s` }]
      : []),
    ...failedTiles(point),
    // Older runs do not have this field.
    ...((failures.degraded_links ?? 0) > 0
      ? [{ name: "Degraded", value: `${formatCount(failures.degraded_links)} links` }]
      : []),
  ];
}

/** The total rate of all flows, until the last has ended. A rate is constant until it changes. */
function CompletionChart({ result, provenance }: { result: Answer; provenance: string }) {
  const theme = useTheme((state) => state.name);
  const crosshair = useCrosshair("time");
  const rate = result.completion?.total_rate;
  const series = useMemo(
    () =>
      rate
        ? [
            {
              id: "total",
              label: "All flows",
              steps: true,
              points: rate.from_secs.map((x, at) => ({ x, y: rate.gbps[at] ?? 0 })),
            },
          ]
        : [],
    [rate],
  );
  if (series.length === 0) return null;
  return (
    <LineChart
      title="Throughput until the last flow completes"
      theme={theme}
      provenance={provenance}
      series={series}
      xLabel="time, s"
      yLabel="Gb/s"
      yFormat={(value) => formatShort(value, 1)}
      height={200}
      {...crosshair}
    />
  );
}
