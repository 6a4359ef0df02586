/** What every server received over time, one row a server: a picture of few pixels, drawn large. */
import { scaleLinear } from "d3-scale";
import { useMemo, useState } from "react";
import { ChartFrame } from "@/charts";
import { paletteOf } from "@/render/resolve";
import { HEAT_CLASSES, heatColour } from "@/scene";
import { Segmented } from "@/ui/tabs";
import { formatBitsPerSec, THEMES, type ThemeName } from "@/units";
import { AXIS_MARGIN_PX } from "./axis";
import styles from "./emulation.module.css";
import type { Network } from "./network";
import { type Strip, secsText, stripOf } from "./series";
import type { Session } from "./session";

const COLUMNS = 120;
const MARGIN = { top: 8, bottom: 20 };

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
  const rowPx = Math.max(3, Math.min(12, 176 / network.servers));
  const height = MARGIN.top + MARGIN.bottom + rowPx * network.servers;
  const names = network.frame.servers.name;
  const tokens = THEMES[theme];
  const columns = useMemo(
    () => [
      {
        header: "time, s",
        values: Array.from({ length: COLUMNS }, (_, c) =>
          Number((from + ((c + 0.5) * (to - from)) / COLUMNS).toFixed(2)),
        ),
      },
      ...names.map((name, row) => ({
        header: name,
        values: Array.from({ length: COLUMNS }, (_, c) => {
          const value = strip.values[row * COLUMNS + c]!;
          return Number.isNaN(value) ? null : Math.round(value);
        }),
        format: formatBitsPerSec,
      })),
    ],
    [strip, names, from, to],
  );
  return (
    <div className={styles.strip}>
      <ChartFrame title="Every server" theme={theme} provenance={provenance} columns={columns}>
        {(width) => {
          const x = scaleLinear(domain, [
            AXIS_MARGIN_PX.left,
            Math.max(AXIS_MARGIN_PX.left + 40, width - AXIS_MARGIN_PX.right),
          ]);
          return (
            <svg
              viewBox={`0 0 ${width} ${height}`}
              width={width}
              height={height}
              role="img"
              aria-label={`What every server ${quantity} over time; at most ${formatBitsPerSec(most)}. The table has all values.`}
            >
              <rect
                x={x(from)}
                y={MARGIN.top}
                width={x(to) - x(from)}
                height={rowPx * network.servers}
                fill={tokens.well}
              />
              {picture && (
                <image
                  href={picture}
                  x={x(from)}
                  y={MARGIN.top}
                  width={x(to) - x(from)}
                  height={rowPx * network.servers}
                  preserveAspectRatio="none"
                  style={{ imageRendering: "pixelated" }}
                />
              )}
              {names.map(
                (name, row) =>
                  (rowPx >= 10 || row % Math.ceil(11 / rowPx) === 0) && (
                    <text
                      key={name}
                      x={AXIS_MARGIN_PX.left - 6}
                      y={MARGIN.top + (row + 0.5) * rowPx}
                      dy="0.35em"
                      textAnchor="end"
                      fontSize={11}
                      fill={tokens.muted}
                    >
                      {name}
                    </text>
                  ),
              )}
              {x.ticks(Math.max(2, Math.floor(width / 90))).map((tick) => (
                <text
                  key={tick}
                  x={x(tick)}
                  y={height - 5}
                  textAnchor="middle"
                  fontSize={11}
                  fill={tokens.muted}
                >
                  {secsText(tick)}
                </text>
              ))}
              {at !== null && (
                <line
                  x1={x(at)}
                  x2={x(at)}
                  y1={MARGIN.top}
                  y2={height - MARGIN.bottom}
                  stroke={tokens.ink}
                  strokeWidth={1}
                />
              )}
            </svg>
          );
        }}
      </ChartFrame>
      <div className={styles.stripFoot}>
        <Segmented
          label="Quantity of the servers"
          value={quantity}
          onChange={setQuantity}
          items={[...QUANTITIES]}
        />
        <span className={styles.muted}>0</span>
        <span
          className={styles.ramp}
          style={{
            background: `linear-gradient(90deg, ${Array.from({ length: HEAT_CLASSES }, (_, i) => paletteOf(theme).colour(heatColour(i + 1))).join(", ")})`,
          }}
        />
        <span className={styles.muted}>{formatBitsPerSec(most)}</span>
      </div>
    </div>
  );
}

const maximum = (values: Float64Array) =>
  values.reduce((most, value) => (Number.isNaN(value) ? most : Math.max(most, value)), 0);

let scratch: HTMLCanvasElement | null = null;

/** One pixel a server and stretch, as a data URL; null without a canvas. */
function pictureOf(strip: Strip, most: number, theme: ThemeName): string | null {
  if (typeof document === "undefined" || most <= 0) return null;
  scratch ??= document.createElement("canvas");
  scratch.width = strip.columns;
  scratch.height = strip.rows;
  const context = scratch.getContext("2d");
  if (!context) return null;
  const palette = paletteOf(theme);
  const colours = Array.from({ length: HEAT_CLASSES }, (_, i) => palette.colour(heatColour(i + 1)));
  for (let row = 0; row < strip.rows; row++)
    for (let column = 0; column < strip.columns; column++) {
      const value = strip.values[row * strip.columns + column]!;
      if (Number.isNaN(value)) continue;
      context.fillStyle =
        value > 0
          ? colours[Math.min(HEAT_CLASSES - 1, Math.floor((value / most) * HEAT_CLASSES))]!
          : palette.tokens.border;
      context.fillRect(column, row, 1, 1);
    }
  return scratch.toDataURL();
}
