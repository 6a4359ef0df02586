/**
 * The received rate of every server over time, one row per server: an image with one pixel per
 * value, drawn enlarged.
 */
import { useMemo, useState } from "react";
import { ChartFrame } from "@/charts";
import { paletteOf } from "@/render/resolve";
import { HEAT_CLASSES, heatColour } from "@/scene";
import { Segmented } from "@/ui/tabs";
import { formatBitsPerSec, THEMES, type ThemeName } from "@/units";
import type { Network } from "../session/network";
import { type Strip, stripOf } from "../session/series";
import type { Session } from "../session/session";
import styles from "./server-strip.module.css";
import { pictureOf } from "./strip-picture";
import { StripPlot } from "./strip-plot";

const COLUMNS = 120;

const QUANTITIES = [
  { id: "received", label: "Received" },
  { id: "relayed", label: "Relayed" },
] as const;
type Quantity = (typeof QUANTITIES)[number]["id"];

export function ServerStrip({
  session,
  network,
  domain,
  provenance,
  theme,
  at,
}: {
  session: Session;
  network: Network;
  domain: [number, number];
  provenance: string;
  theme: ThemeName;
  at: number | null;
}) {
  const [quantity, setQuantity] = useState<Quantity>("received");
  const { history: ticks } = session;
  const [from, to] = domain;
  const strip = useMemo(
    () => stripOf(ticks, network.servers, (tick) => tick[quantity], from, to, COLUMNS),
    [ticks, network, quantity, from, to],
  );
  const most = useMemo(() => maximum(strip.values), [strip]);
  const picture = useMemo(() => pictureOf(strip, most, theme), [strip, most, theme]);
  const names = network.frame.servers.name;
  const columns = useMemo(() => stripColumns(strip, names), [strip, names]);
  return (
    <div className={styles.strip}>
      <ChartFrame title="Every server" theme={theme} provenance={provenance} columns={columns}>
        {(width) => (
          <StripPlot
            names={names}
            domain={domain}
            picture={picture}
            width={width}
            tokens={THEMES[theme]}
            at={at}
            label={`What every server ${quantity} over time; at most ${formatBitsPerSec(most)}. The table has all values.`}
          />
        )}
      </ChartFrame>
      <div className={styles.stripFoot}>
        <Segmented
          label="Quantity of the servers"
          value={quantity}
          onChange={setQuantity}
          items={[...QUANTITIES]}
        />
        <StripScale most={most} theme={theme} />
      </div>
    </div>
  );
}

/** The colours from nothing to the most. */
function StripScale({ most, theme }: { most: number; theme: ThemeName }) {
  return (
    <>
      <span className="muted plain">0</span>
      <span
        className={styles.ramp}
        style={{
          background: `linear-gradient(90deg, ${Array.from({ length: HEAT_CLASSES }, (_, i) => paletteOf(theme).colour(heatColour(i + 1))).join(", ")})`,
        }}
      />
      <span className="muted plain">{formatBitsPerSec(most)}</span>
    </>
  );
}

/** The same as a table: a row a stretch of time, a column a server. */
function stripColumns({ from, to, columns, values }: Strip, names: readonly string[]) {
  const stretches = Array.from({ length: columns }, (_, c) => c);
  return [
    {
      header: "time, s",
      values: stretches.map((c) => Number((from + ((c + 0.5) * (to - from)) / columns).toFixed(2))),
    },
    ...names.map((name, row) => ({
      header: name,
      values: stretches.map((c) => {
        const value = values[row * columns + c]!;
        return Number.isNaN(value) ? null : Math.round(value);
      }),
      format: formatBitsPerSec,
    })),
  ];
}

const maximum = (values: Float64Array) =>
  values.reduce((most, value) => (Number.isNaN(value) ? most : Math.max(most, value)), 0);
