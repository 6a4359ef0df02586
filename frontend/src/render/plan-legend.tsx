/**
 * The meaning of a picture's colours: the scale of the racks, and the levels with colour and dash
 * pattern.
 */
import { useMemo } from "react";
import {
  type ColourBy,
  type ColourRef,
  colourScale,
  matrixStops,
  type PlanModel,
  type ViewKind,
} from "@/scene";
import { levelColour, levelDashPx, levelShortLabel, THEMES, type ThemeName } from "@/units";
import styles from "./plan-legend.module.css";
import { paletteOf } from "./resolve";

export interface PlanLegendProps {
  model: PlanModel;
  view: ViewKind;
  colourBy: ColourBy;
  theme: ThemeName;
  /** Makes levels buttons that select them. */
  onLevel?: (level: number) => void;
  selectedLevels?: readonly number[];
}

interface Stop {
  colour: ColourRef;
  text: string;
}

export function PlanLegend({ model, view, colourBy, theme, onLevel, selectedLevels }: PlanLegendProps) {
  const scale = useMemo(() => colourScale(model, colourBy), [model, colourBy]);
  const stops: readonly Stop[] = useMemo(
    () => (view === "matrix" ? matrixStops(model) : scale.stops),
    [view, model, scale],
  );
  const racksColoured = view === "floor" || view === "3d" || view === "matrix";
  const title =
    view === "matrix"
      ? "Cables per pair"
      : scale.kind === "flat"
        ? `${scale.title}, every rack`
        : scale.title;
  return (
    <div className={styles.legend}>
      {racksColoured && stops.length > 0 && (
        <div className={styles.part}>
          <span className={styles.title}>{title}</span>
          <Stops stops={stops} theme={theme} joined={view === "matrix" || scale.kind === "ramp"} />
        </div>
      )}
      {view !== "matrix" && (
        <ul className={styles.levels} aria-label="Levels">
          {model.scene.levels.map(({ level, label }) => (
            <li key={level}>
              {onLevel ? (
                <button
                  type="button"
                  className={styles.level}
                  aria-pressed={selectedLevels?.includes(level) ?? false}
                  title={label}
                  onClick={() => onLevel(level)}
                >
                  <Swatch level={level} theme={theme} />
                  {levelShortLabel(level)}
                </button>
              ) : (
                <span className={styles.level} title={label}>
                  <Swatch level={level} theme={theme} />
                  {levelShortLabel(level)}
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Stops({ stops, theme, joined }: { stops: readonly Stop[]; theme: ThemeName; joined: boolean }) {
  const palette = paletteOf(theme);
  const first = stops[0]!;
  const last = stops[stops.length - 1]!;
  if (joined && stops.length > 1)
    return (
      <>
        <span>{first.text}</span>
        <span
          className={styles.ramp}
          style={{
            background: `linear-gradient(90deg, ${stops.map((s) => palette.colour(s.colour)).join(", ")})`,
          }}
        />
        <span>{last.text}</span>
      </>
    );
  return stops.slice(0, 8).map((stop) => (
    <span key={stop.text} className={styles.stop}>
      <span className={styles.box} style={{ background: palette.colour(stop.colour) }} />
      {stop.text}
    </span>
  ));
}

/** A level's colour with its dash below: the two cues together. */
function Swatch({ level, theme }: { level: number; theme: ThemeName }) {
  const colour = levelColour(THEMES[theme], level);
  return (
    <svg width="20" height="12" aria-hidden="true">
      <rect width="20" height="7" rx="1" fill={colour} />
      <line
        x1="0"
        x2="20"
        y1="10.5"
        y2="10.5"
        stroke={colour}
        strokeWidth="2"
        strokeDasharray={levelDashPx(level).join(" ")}
      />
    </svg>
  );
}
