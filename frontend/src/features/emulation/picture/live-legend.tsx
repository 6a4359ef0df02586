/** The meanings of the marks in the live picture. */
import { paletteOf } from "@/render/resolve";
import { HEAT_CLASSES, heatColour } from "@/scene";
import { formatBitsPerSec, type ThemeName } from "@/units";
import type { Network } from "../session/network";
import styles from "./live-legend.module.css";
import { DETOUR_DASH } from "./topology-paint";

export function LiveLegend({
  network,
  detours,
  theme,
}: {
  network: Network;
  /** Whether any are drawn. */
  detours: boolean;
  theme: ThemeName;
}) {
  const palette = paletteOf(theme);
  const { tokens } = palette;
  const ramp = Array.from({ length: HEAT_CLASSES }, (_, i) => palette.colour(heatColour(i + 1)));
  return (
    <div className={styles.legend}>
      <span className={styles.legendItem}>
        Link rate, per direction: 0
        <span className={styles.ramp} style={{ background: `linear-gradient(90deg, ${ramp.join(", ")})` }} />
        {network.frame.links.rate_bits_per_sec
          ? "the link's own"
          : formatBitsPerSec(network.frame.rate_bits_per_sec)}
      </span>
      {line(palette.colour(heatColour(0)), "2 3", "idle")}
      {line(tokens.failed, "5 4", "broken")}
      {line(tokens.warning, "2 6", "degraded", 3)}
      {line(tokens.accent, "", "selected path", 4)}
      {line(tokens.muted, "1 5", "previous path")}
      {detours && line(tokens.ink, DETOUR_DASH.join(" "), "detour around a hot rack, by the last ToR up")}
      <span className={styles.legendItem}>
        <span className={styles.meter} style={{ background: tokens.accent }} />
        <span className={styles.meter} style={{ background: tokens.accent, opacity: 0.45 }} />
        server: received, relayed
      </span>
    </div>
  );
}

/** The legend of faults on a floor of many racks. */
export function BrokenLegend({ theme }: { theme: ThemeName }) {
  const { tokens } = paletteOf(theme);
  return (
    <div className={styles.legend}>
      {line(tokens.failed, "5 4", "failed cable")}
      {line(tokens.warning, "2 6", "degraded cable", 3)}
      {badge(tokens.failed, 7, "failed cables inside a rack")}
      {badge(tokens.failed, 2, "failed servers and switches in it")}
    </div>
  );
}

const line = (colour: string, dash: string, label: string, width = 2) => (
  <span className={styles.legendItem}>
    <svg width="22" height="8" aria-hidden="true">
      <line x2="22" y1="4" y2="4" stroke={colour} strokeWidth={width} strokeDasharray={dash} />
    </svg>
    {label}
  </span>
);

const badge = (colour: string, radius: number, label: string) => (
  <span className={styles.legendItem}>
    <svg width="16" height="16" aria-hidden="true" fill="none" stroke={colour} strokeWidth="2">
      <rect x="1" y="1" width="14" height="14" rx={radius} />
      <path d="M5.2 5.2l5.6 5.6m0-5.6l-5.6 5.6" strokeLinecap="round" />
    </svg>
    {label}
  </span>
);
