/**
 * The meaning of the colours of links: the ramp from the least to the greatest value, and links
 * without traffic.
 */
import { HEAT_CLASSES, heatColour, heatScale, type LinkHeat } from "@/scene";
import { plural, type ThemeName } from "@/units";
import styles from "./plan-legend.module.css";
import { paletteOf } from "./resolve";

export function HeatLegend({ heat, theme }: { heat: LinkHeat; theme: ThemeName }) {
  const palette = paletteOf(theme);
  const { domain, idle } = heatScale(heat);
  const colours = Array.from({ length: HEAT_CLASSES }, (_, at) => palette.colour(heatColour(at + 1)));
  return (
    <div className={styles.legend}>
      <div className={styles.part}>
        <span className={styles.title}>{heat.title}</span>
        {domain ? (
          <>
            <span>{heat.format(domain[0])}</span>
            <span
              className={styles.ramp}
              style={{ background: `linear-gradient(90deg, ${colours.join(", ")})` }}
            />
            <span>{heat.format(domain[1])}</span>
          </>
        ) : (
          <span>no traffic on any link</span>
        )}
      </div>
      {domain && idle > 0 && (
        <span className={styles.stop}>
          <svg width="20" height="12" aria-hidden="true">
            <line
              x2="20"
              y1="6"
              y2="6"
              stroke={palette.colour(heatColour(0))}
              strokeWidth="2"
              strokeDasharray="2 3"
            />
          </svg>
          {plural(idle, "link")} unused
        </span>
      )}
    </div>
  );
}
