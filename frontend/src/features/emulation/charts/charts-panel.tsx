/**
 * Over the session's time: goodput with its ideal and what the flow engine predicts, ABT, the
 * latency of requests, CPU, and every server.
 */
import { memo, useMemo } from "react";
import type { Run } from "@/api/types";
import { LineChart } from "@/charts";
import { useCrosshair } from "@/charts/crosshair";
import { useTheme } from "@/ui/theme";
import { formatBitsPerSec, formatPercent, formatShort } from "@/units";
import { idealSteps, predictedSteps } from "../session/predicted";
import { secsText } from "../session/series";
import { type Session, scheduledFaults } from "../session/session";
import { TIME_AXIS, timeDomain } from "./axis";
import {
  abtSeries,
  cpuSeries,
  faultMarkers,
  goodputSeries,
  latencySeries,
  provenanceOf,
} from "./chart-series";
import styles from "./charts-panel.module.css";
import { ServerStrip } from "./server-strip";

const CHART_PX = 168;
const mbps = (value: number) => formatBitsPerSec(value * 1e6);
const tickText = (value: number) => formatShort(value, 1);

export const ChartsPanel = memo(function ChartsPanel({
  session,
  run,
  at,
}: {
  session: Session;
  run: Run;
  /** The position of the replay; null if it follows the newest data. */
  at: number | null;
}) {
  const theme = useTheme((state) => state.name);
  const crosshair = useCrosshair(TIME_AXIS);
  const { history: ticks, faults, network } = session;
  const scheduled = scheduledFaults(session);
  const domain = timeDomain(session);
  // The lists are new with every batch of frames; their lengths say whether anything came.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const predicted = useMemo(
    () => predictedSteps(session, domain[0], domain[1]),
    [network, session.predicted.length, domain[0], domain[1]],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above
  const ideal = useMemo(
    () => idealSteps(session, domain[0], domain[1]),
    [network, session.predicted.length, session.upgrades.length, domain[0], domain[1]],
  );
  // Throughput is counted from the begin of the measured time.
  const measured = useMemo(() => ticks.filter((tick) => tick.at >= 0), [ticks]);
  const provenance = provenanceOf(session, run);
  const markers = useMemo(() => faultMarkers(faults, scheduled), [faults, scheduled]);
  const goodput = useMemo(() => goodputSeries(measured, predicted, ideal), [measured, predicted, ideal]);
  const abt = useMemo(() => abtSeries(measured, predicted), [measured, predicted]);
  const latency = useMemo(() => latencySeries(measured), [measured]);
  const cpu = useMemo(() => cpuSeries(ticks), [ticks]);
  const shared = {
    theme,
    provenance,
    xLabel: "time",
    xFormat: secsText,
    xDomain: domain,
    markers,
    height: CHART_PX,
    at: crosshair.at ?? at,
    onAt: crosshair.onAt,
  };
  return (
    <section className={styles.charts} aria-label="Charts">
      <LineChart
        {...shared}
        title="Aggregate goodput"
        series={goodput}
        yLabel="Mb/s"
        yFormat={mbps}
        yTick={tickText}
      />
      <LineChart {...shared} title="ABT" series={abt} yLabel="Mb/s" yFormat={mbps} yTick={tickText} />
      {latency.length > 0 && (
        <LineChart
          {...shared}
          title="Latency of requests"
          series={latency}
          yLabel="ms"
          yFormat={(value) => `${formatShort(value, 1)}\u00a0ms`}
          yTick={tickText}
        />
      )}
      {network && (
        <ServerStrip
          session={session}
          network={network}
          domain={domain}
          provenance={provenance}
          theme={theme}
          at={crosshair.at ?? at}
        />
      )}
      <LineChart
        {...shared}
        title="Host CPU"
        series={cpu}
        yLabel="% of all cores"
        yFormat={(value) => formatPercent(value / 100)}
        yTick={tickText}
        yDomain={[0, 100]}
      />
    </section>
  );
});
