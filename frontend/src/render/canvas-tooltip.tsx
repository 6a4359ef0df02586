/** The tooltip of the item under the pointer in a picture of the plan. */
import type { CSSProperties } from "react";
import {
  describe,
  describeHeat,
  describeStruck,
  type Hit,
  type HitItem,
  type LinkHeat,
  type PlanModel,
  type Struck,
} from "@/scene";
import { THEMES, type ThemeName } from "@/units";
import styles from "./plan-canvas.module.css";
import type { Size } from "./transform";

/** The content of the picture that is needed to describe its items. */
export interface Shown {
  model: PlanModel;
  heat?: LinkHeat;
  struck?: Struck;
}

const LINE_PX = 16;
/** The approximate number of letters per line. */
const LETTERS = 44;

export interface Hovered {
  hit: Hit;
  /** CSS pixels in the picture. */
  x: number;
  y: number;
}

/** Describes an item: its name, its failures, and the load of its links if that is shown. */
export function describeHit({ model, heat, struck }: Shown, item: HitItem) {
  const { title, lines } = describe(model, item);
  const broken = struck ? describeStruck(model, struck, item) : [];
  const carried = heat ? describeHeat(model, heat, item) : "";
  return { title, lines: [...broken, ...(carried === "" ? [] : [carried]), ...lines] };
}

export function CanvasTooltip({
  shown,
  hover,
  size,
  theme,
}: {
  shown: Shown;
  hover: Hovered;
  size: Size;
  theme: ThemeName;
}) {
  const { title, lines } = describeHit(shown, hover.hit.item);
  const tokens = THEMES[theme];
  // A long line wraps to two lines.
  const heightPx = 40 + LINE_PX * lines.reduce((sum, line) => sum + Math.ceil(line.length / LETTERS), 0);
  const place: CSSProperties = {
    color: tokens.ink,
    background: tokens.background,
    ...(hover.x > size.width - 240 ? { right: size.width - hover.x + 12 } : { left: hover.x + 14 }),
    ...(hover.y > size.height - heightPx ? { bottom: size.height - hover.y + 10 } : { top: hover.y + 14 }),
  };
  return (
    <div className={styles.tooltip} style={place} aria-hidden="true">
      <strong>{title}</strong>
      {lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  );
}
