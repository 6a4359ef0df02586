/**
 * From a session to what its charts draw: lines, markers of faults, and the provenance below them.
 */
import type { Run } from "@/api/types";
import type { LineSeries } from "@/charts";
import { faultName } from "@/shared/faults/fault-kinds";
import { formatBitsPerSec } from "@/units";
import { fidelityText } from "../report/fidelity-mark";
import type { Tick } from "../session/frames";
import type { idealSteps, predictedSteps } from "../session/predicted";
import { megabits, seriesOf } from "../session/series";
import type { Session } from "../session/session";

/** The number of latest faults that have a marker. */
const MARKERS_AT_MOST = 12;

type Predicted = ReturnType<typeof predictedSteps>;

/** The last injected faults. A flapping fault appears once. */
export function faultMarkers(faults: Session["faults"], scheduled: number): { x: number; label: string }[] {
  return faults
    .filter(({ state }) => state === "injected")
    .slice(-MARKERS_AT_MOST)
    .map(({ id, at_secs }, i, all) => ({
      x: at_secs,
      label: all.findIndex((other) => other.id === id) === i ? faultName(id, scheduled) : "",
    }));
}

/** Measured, predicted and ideal goodput, in Mb/s. */
export function goodputSeries(
  measured: readonly Tick[],
  predicted: Predicted,
  ideal: ReturnType<typeof idealSteps>,
): LineSeries[] {
  return [
    { id: "measured", label: "measured", points: seriesOf(measured, (tick) => megabits(tick.goodput)) },
    {
      id: "predicted",
      label: "predicted",
      steps: true,
      points: predicted.map(({ x, goodput }) => ({ x, y: megabits(goodput) })),
    },
    {
      id: "ideal",
      label: "ideal",
      steps: true,
      points: ideal.map(({ x, goodput }) => ({ x, y: megabits(goodput) })),
    },
  ];
}

/** ABT as measured and as predicted, in Mb/s. */
export function abtSeries(measured: readonly Tick[], predicted: Predicted): LineSeries[] {
  return [
    { id: "measured", label: "measured", points: seriesOf(measured, (tick) => megabits(tick.abt)) },
    {
      id: "predicted",
      label: "predicted",
      steps: true,
      points: predicted.map(({ x, abt }) => ({ x, y: megabits(abt) })),
    },
  ];
}

/** The latency of requests, in milliseconds; no line without requests. */
export function latencySeries(measured: readonly Tick[]): LineSeries[] {
  const answered = measured.filter((tick) => tick.latency !== null);
  if (answered.length === 0) return [];
  const line = (id: "median" | "p99" | "max", label: string): LineSeries => ({
    id,
    label,
    points: seriesOf(answered, (tick) => tick.latency![id] * 1e3),
  });
  return [line("median", "median"), line("p99", "99th percentile"), line("max", "longest")];
}

/** The host's CPU, in per cent of all cores. */
export function cpuSeries(ticks: readonly Tick[]): LineSeries[] {
  return [{ id: "host", label: "host", points: seriesOf(ticks, (tick) => tick.cpu * 100) }];
}

/** Below each chart and in its files: mode, links, seed, fidelity and run. */
export function provenanceOf(session: Session, run: Run): string {
  const frame = session.network?.frame;
  return [
    "measured",
    frame &&
      `${frame.mode}, ${frame.dataplane} dataplane, links of ${frame.links.rate_bits_per_sec ? "at least " : ""}${formatBitsPerSec(frame.rate_bits_per_sec)}`,
    frame && `seed ${frame.seed}`,
    fidelityText(session),
    `run ${run.id}`,
  ]
    .filter(Boolean)
    .join(" · ");
}
