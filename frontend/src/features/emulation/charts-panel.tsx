/** Over the session's time: goodput with its ideal and what the flow engine predicts, ABT, CPU, and every server. */
import { memo, useMemo } from "react";
import type { Run } from "@/api/types";
import { LineChart, type LineSeries } from "@/charts";
import { formatBitsPerSec, formatPercent, formatShort } from "@/units";
import { useCrosshair } from "../shared/crosshair";
import { useTheme } from "../shared/theme";
import { TIME_AXIS, timeDomain } from "./axis";
import styles from "./emulation.module.css";
import { fidelityText } from "./fidelity-mark";
import { predictedSteps } from "./predicted";
import { megabits, secsText, seriesOf } from "./series";
import { ServerStrip } from "./server-strip";
import type { Session } from "./session";

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
  /** Where the replay stands; null when it follows. */
  at: number | null;
}) {
  const theme = useTheme((state) => state.name);
  const crosshair = useCrosshair(TIME_AXIS);
  const { history: ticks, faults, network } = session;
  const domain = timeDomain(session);
  // The lists are new with every batch of frames; their lengths say whether anything came.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const predicted = useMemo(
    () => predictedSteps(session, domain[0], domain[1]),
    [network, session.predicted.length, domain[0], domain[1]],
  );
  // Throughput is counted from the begin of the measured time.
  const measured = useMemo(() => ticks.filter((tick) => tick.at >= 0), [ticks]);
  const provenance = provenanceOf(session, run);
  const markers = useMemo(
    () =>
      faults
        .filter(({ state }) => state === "injected")
        .slice(-12)
        // One that flaps is named once.
        .map(({ id, at_secs }, i, all) => ({
          x: at_secs,
          label: all.findIndex((other) => other.id === id) === i ? id : "",
        })),
    [faults],
  );
  const goodput = useMemo<LineSeries[]>(() => {
    const ideal = network
      ? megabits(network.frame.predicted.ideal_bits_per_sec * network.frame.header_efficiency)
      : 0;
    return [
      { id: "measured", label: "measured", points: seriesOf(measured, (tick) => megabits(tick.goodput)) },
      {
        id: "predicted",
        label: "predicted",
        steps: true,
        points: predicted.map(({ x, goodput: value }) => ({ x, y: megabits(value) })),
      },
      {
        id: "ideal",
        label: "ideal",
        steps: true,
        points: [
          { x: domain[0], y: ideal },
          { x: domain[1], y: ideal },
        ],
      },
    ];
  }, [measured, predicted, network, domain[0], domain[1]]);
  const abt = useMemo<LineSeries[]>(
    () => [
      { id: "measured", label: "measured", points: seriesOf(measured, (tick) => megabits(tick.abt)) },
      {
        id: "predicted",
        label: "predicted",
        steps: true,
        points: predicted.map(({ x, abt: value }) => ({ x, y: megabits(value) })),
      },
    ],
    [measured, predicted],
  );
  const cpu = useMemo<LineSeries[]>(
    () => [{ id: "host", label: "host", points: seriesOf(ticks, (tick) => tick.cpu * 100) }],
    [ticks],
  );
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

export function provenanceOf(session: Session, run: Run): string {
  const frame = session.network?.frame;
  return [
    "measured",
    frame &&
      `${frame.mode}, ${frame.dataplane} dataplane, links of ${formatBitsPerSec(frame.rate_bits_per_sec)}`,
    frame && `seed ${frame.seed}`,
    fidelityText(session),
    `run ${run.id}`,
  ]
    .filter(Boolean)
    .join(" · ");
}
