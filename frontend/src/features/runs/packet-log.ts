/**
 * A simulation's frames as they come: whole points by number, and what there is of the one being
 * computed. No drawing.
 */
import type { ServerEvent } from "@/api/events";
import type { components } from "@/api/schema";
import type { Run } from "@/api/types";
import type { LineSeries } from "@/charts";
import { emptyLog } from "@/shared/runs/run-points";
import { type LiveRun, liveRun } from "@/shared/runs/runs";

type Schemas = components["schemas"];
export type Simulated = Schemas["SimulationFrame"];
export type Simulating = Schemas["SimulatingFrame"];
export type SoFar = Schemas["SimulationSoFar"];
export type Whole = Schemas["Simulation"];

export interface PacketLog {
  live: LiveRun;
  /** In the order they came. */
  points: readonly Simulated[];
  /** The result of an incomplete point. */
  soFar: Simulating | null;
}

export const emptyPacketLog = (run: Run): PacketLog => ({
  live: emptyLog(run).live,
  points: [],
  soFar: null,
});

export function reducePackets(log: PacketLog, events: readonly ServerEvent[]): PacketLog {
  let { live, soFar } = log;
  const points = [...log.points];
  for (const event of events) {
    if (event.event === "simulation") {
      points.push(JSON.parse(event.data) as Simulated);
      soFar = null;
    } else if (event.event === "simulating") soFar = JSON.parse(event.data) as Simulating;
    else live = liveRun(live, event);
  }
  return { live: { ...live, points_done: Math.max(live.points_done, points.length) }, points, soFar };
}

/** The point to show: the chosen one, else the one being computed, else the first. */
export function shownOf(
  { points, soFar }: PacketLog,
  chosen: number | undefined,
): Simulated | Simulating | null {
  return (
    points.find(({ point }) => point === chosen) ??
    (chosen === undefined ? soFar : null) ??
    points[0] ??
    soFar
  );
}

/** Whether a result is complete: only then it includes the choices. */
export const isWhole = (result: SoFar): result is Whole => "choices" in result;

/** The share of complete flows by time: as simulated, and as fluids where that is known. */
export function completionSeries(result: SoFar): LineSeries[] {
  const line = (
    id: string,
    label: string,
    { secs, share }: { secs: number[]; share: number[] },
  ): LineSeries => ({
    id,
    label,
    steps: true,
    points: [{ x: 0, y: 0 }, ...secs.map((x, at) => ({ x, y: share[at] ?? 1 }))],
  });
  const predicted = isWhole(result) ? result.predicted : null;
  return [
    ...(result.completion_distribution.secs.length > 0
      ? [line("simulated", "Simulated", result.completion_distribution)]
      : []),
    ...(predicted ? [line("predicted", "Predicted (flow engine)", predicted)] : []),
  ];
}

/** The share of answered requests by latency; nothing without requests. */
export function latencySeries({ latency_distribution: latency }: SoFar): LineSeries[] {
  if (!latency || latency.secs.length === 0) return [];
  return [
    {
      id: "latency",
      label: "Simulated",
      steps: true,
      points: [{ x: 0, y: 0 }, ...latency.secs.map((x, at) => ({ x, y: latency.share[at] ?? 1 }))],
    },
  ];
}

/** A column in time. */
export function columnSeries(
  result: SoFar,
  id: string,
  label: string,
  values: readonly number[] | null | undefined,
): LineSeries {
  const step = result.series.step_secs;
  return { id, label, points: (values ?? []).map((y, at) => ({ x: (at + 1) * step, y })) };
}

/** The bytes that wait at the watched link, and the target queue of congestion notifications. */
export function queueSeries(result: SoFar): LineSeries[] {
  const waiting = columnSeries(result, "queue", "Waiting", result.series.queue_bytes);
  const choices: Record<string, unknown> = isWhole(result) ? result.choices : {};
  const { qcn_queue_bytes: aim } = choices;
  const ends = [waiting.points[0], waiting.points.at(-1)];
  if (typeof aim !== "number" || !ends[0] || !ends[1]) return [waiting];
  return [waiting, { id: "aim", label: "Q_EQ", points: ends.map((point) => ({ x: point!.x, y: aim })) }];
}

/** The rate limit that congestion notifications set for the watched flow, while there is one. */
export function limitSeries({ series }: SoFar): LineSeries {
  const points = (series.limit_gbps ?? []).flatMap((y, at) =>
    y === null ? [] : [{ x: (at + 1) * series.step_secs, y }],
  );
  return { id: "limit", label: "Limit", points };
}
