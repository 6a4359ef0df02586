/**
 * A run of the packet engine: completion times compared with the prediction, and throughput, queue,
 * drops and timeouts over time.
 */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { LineChart } from "@/charts";
import { useCrosshair } from "@/charts/crosshair";
import { Block } from "@/shared/runs/block";
import block from "@/shared/runs/block.module.css";
import { NoResultsYet } from "@/shared/runs/no-results-yet";
import { Downloads } from "@/shared/runs/run-downloads";
import { useRunFeed } from "@/shared/runs/run-feed";
import { RunFrame, type RunViewProps } from "@/shared/runs/run-frame";
import type { RunSearch } from "@/shared/runs/run-url";
import { hasHypotheses, keepsFlowTimes } from "@/shared/runs/runs";
import { Field, Section, Select } from "@/ui/form";
import { Skeleton } from "@/ui/marks";
import { useTheme } from "@/ui/theme";
import { formatCount, formatGbps, formatPercent, formatShort } from "@/units";
import { pointText } from "./numbers-panel";
import {
  columnSeries,
  completionSeries,
  emptyPacketLog,
  isWhole,
  latencySeries,
  limitSeries,
  type PacketLog,
  queueSeries,
  reducePackets,
  type Simulated,
  type Simulating,
  type SoFar,
  shownOf,
  type Whole,
} from "./packet-log";
import { provenanceOf, Question } from "./question";
import styles from "./runs.module.css";
import { settingText } from "./setting-text";
import { type Tile, Tiles } from "./tiles";

const VerdictPanel = lazy(() => import("@/shared/runs/verdict-panel"));
const HeatInTime = lazy(() => import("./heat-in-time"));
const MethodsPanel = lazy(() => import("@/shared/runs/methods/methods-panel"));

const secs = (value: number) => `${formatShort(value, 3)}\u00a0s`;

export default function PacketRun({ run, experiment }: RunViewProps) {
  const { value: log, feed, error } = useRunFeed(run.events_url, emptyPacketLog(run), reducePackets);
  const search = useSearch({ strict: false }) as RunSearch;
  const shown = shownOf(log, search.point);
  const { live } = log;
  const provenance = useMemo(() => provenanceOf(run, experiment!), [run, experiment]);
  return (
    <RunFrame
      run={run}
      live={live}
      feed={feed}
      error={error}
      actions={<Downloads run={run} flows={keepsFlowTimes(experiment!)} />}
    >
      <div className={styles.columns}>
        <div className={styles.main}>
          {shown ? (
            <>
              {live.state === "succeeded" && hasHypotheses(experiment!) && (
                <Suspense fallback={<Skeleton height={64} />}>
                  <VerdictPanel run={run} />
                </Suspense>
              )}
              {log.points.length > 1 && <PointChoice log={log} shown={shown} />}
              <Numbers
                shown={shown}
                title={experiment!.topologies[shown.topology]?.title ?? ""}
                provenance={provenance}
              />
              {shown.result.link_heat && (
                <Suspense fallback={<Skeleton height={320} />}>
                  <HeatInTime
                    key={shown.point}
                    experiment={experiment!}
                    point={shown.point}
                    topology={shown.topology}
                    heat={shown.result.link_heat}
                    simulatedSecs={shown.result.simulated_secs}
                    over={isWhole(shown.result)}
                    provenance={provenance}
                  />
                </Suspense>
              )}
              {live.state === "succeeded" && (
                <Suspense fallback={<Skeleton height={240} />}>
                  <MethodsPanel run={run} experiment={experiment} />
                </Suspense>
              )}
              {isWhole(shown.result) && <Choices result={shown.result} />}
            </>
          ) : (
            <NoResultsYet
              run={run}
              live={live}
              ended={["The run ended before its first result.", "Run it again, or change the setup."]}
              doing="Simulating…"
            />
          )}
        </div>
        <Question experiment={experiment!} />
      </div>
    </RunFrame>
  );
}

function PointChoice({ log, shown }: { log: PacketLog; shown: Simulated | Simulating }) {
  const navigate = useNavigate();
  return (
    <Field label="Point" controlWidth={260}>
      {({ id }) => (
        <Select
          id={id}
          value={String(shown.point)}
          options={log.points.map((point) => ({
            value: String(point.point),
            label: pointText({ kind: point.failure_kind, ratio: point.failure_ratio, seed: point.seed }),
          }))}
          onChange={(point) =>
            void navigate({
              from: "/runs/$id",
              to: ".",
              search: (old) => ({ ...old, point: Number(point) }),
              replace: true,
            })
          }
        />
      )}
    </Field>
  );
}

function Numbers({
  shown,
  title,
  provenance,
}: {
  shown: Simulated | Simulating;
  title: string;
  provenance: string;
}) {
  const { result } = shown;
  const which = pointText({ kind: shown.failure_kind, ratio: shown.failure_ratio, seed: shown.seed });
  return (
    <Block
      label="Results of one point"
      title={title}
      aside={
        isWhole(result)
          ? `${which} · routing ${result.routing}`
          : `${which} · so far, at ${secs(result.simulated_secs)}`
      }
    >
      <Tiles tiles={tilesOf(result)} />
      <Charts result={result} provenance={`${provenance} · ${title}, ${which}`} />
    </Block>
  );
}

function tilesOf(result: SoFar): Tile[] {
  const { completion_secs: times, latency_secs: latency, bytes } = result;
  const predicted = isWhole(result) ? result.predicted : null;
  return [
    {
      name: "Flows complete",
      value: formatCount(times.flows),
      note: times.unfinished > 0 ? ` of ${formatCount(times.flows + times.unfinished)}` : " all",
    },
    ...(times.median !== null
      ? [
          {
            name: "Median completion time",
            value: secs(times.median),
            note: ` 99th percentile ${secs(times.p99 ?? 0)}`,
          },
        ]
      : []),
    ...(times.max !== null
      ? [
          {
            name: "Longest completion time",
            value: secs(times.max),
            ...(predicted?.max && { note: ` predicted ${secs(predicted.max)}` }),
          },
        ]
      : []),
    ...(latency && latency.median !== null
      ? [
          {
            name: "Median latency",
            value: secs(latency.median),
            note: ` 99th percentile ${secs(latency.p99 ?? 0)}`,
          },
        ]
      : []),
    ...(latency && latency.bound !== null
      ? [
          {
            name: `Responses within ${secs(latency.bound)}`,
            value: formatPercent(latency.within_bound ?? 0, 2),
            note: ` of ${formatCount(latency.requests)} requests`,
          },
        ]
      : []),
    ...(isWhole(result) ? [{ name: "Goodput of all flows", value: formatGbps(result.goodput_gbps) }] : []),
    {
      name: "Packets dropped",
      value: formatCount(result.drops),
      note: bytes.sent > 0 ? ` ${formatPercent(bytes.dropped / bytes.sent, 2)} of the bytes` : "",
    },
    { name: "Timeouts", value: formatCount(result.timeouts) },
    ...(typeof result.notices === "number"
      ? [{ name: "Congestion notices", value: formatCount(result.notices) }]
      : []),
    ...(result.controllers
      ? [
          {
            name: "Routes moved by controllers",
            value: formatCount(result.controllers.moves),
            note: ` in ${formatCount(result.controllers.rounds)} rounds`,
          },
        ]
      : []),
    { name: "Packet-hops", value: formatShort(result.packet_hops, 2) },
  ];
}

function Charts({ result, provenance }: { result: SoFar; provenance: string }) {
  const theme = useTheme((state) => state.name);
  const inTime = useCrosshair("time");
  const { series } = result;
  const watched = isWhole(result) ? result.watched.link : null;
  const common = { theme, provenance, height: 200 };
  const timed = { ...common, xLabel: "virtual time, s", ...inTime };
  const completion = completionSeries(result);
  const latency = latencySeries(result);
  return (
    <div className={block.multiples}>
      {latency.length > 0 && (
        <LineChart
          {...common}
          title="Latency of requests"
          series={latency}
          xLabel="time since the request, s"
          yLabel="requests answered"
          yFormat={(value) => formatPercent(value, 0)}
          yDomain={[0, 1]}
        />
      )}
      {completion.length > 0 && (
        <LineChart
          {...common}
          title="Completion times"
          series={completion}
          xLabel="time since a flow's start, s"
          yLabel="flows complete"
          yFormat={(value) => formatPercent(value, 0)}
          yDomain={[0, 1]}
        />
      )}
      <LineChart
        {...timed}
        title="Goodput of all flows"
        series={[columnSeries(result, "goodput", "All flows", series.goodput_gbps)]}
        yLabel="Gb/s"
      />
      {series.queue_bytes && (
        <LineChart
          {...timed}
          title={watched ? `Queue at ${watched}` : "Queue at the most used link"}
          series={queueSeries(result)}
          yLabel="bytes"
        />
      )}
      <LineChart
        {...timed}
        title="Drops and timeouts"
        series={[
          columnSeries(result, "drops", "Packets dropped", series.drops),
          columnSeries(result, "timeouts", "Timeouts", series.timeouts),
        ]}
        yLabel="per step"
      />
      {series.limit_gbps?.some((limit) => limit !== null) && (
        <LineChart
          {...timed}
          title="Rate limit of the watched flow"
          series={[limitSeries(result)]}
          yLabel="Gb/s"
        />
      )}
      {series.window_packets && (
        <LineChart
          {...timed}
          title="Congestion window of the watched flow"
          series={[columnSeries(result, "window", "Window", series.window_packets)]}
          yLabel="packets"
        />
      )}
    </div>
  );
}

/** Every setting of the run, and the assumptions where nothing is set. */
function Choices({ result }: { result: Whole }) {
  const { assumptions, ...settings } = result.choices;
  return (
    <Section title="Settings of the simulation">
      <dl className={styles.facts} style={{ gridTemplateColumns: "repeat(3, max-content 1fr)" }}>
        {Object.entries(settings)
          .filter(([, value]) => value !== null)
          .map(([name, value]) => ({ name, ...settingText(name, value) }))
          .map(({ name, label, value }) => (
            <div key={name} style={{ display: "contents" }}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <ul className={block.note}>
        {(Array.isArray(assumptions) ? assumptions : []).map((text) => (
          <li key={String(text)}>{String(text)}</li>
        ))}
      </ul>
    </Section>
  );
}
