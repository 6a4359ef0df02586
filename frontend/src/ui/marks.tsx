/** Small marks with one fact each: the source of a value, its change, its shortcut key. */
import type { CSSProperties, ReactNode } from "react";
import { cx } from "./cx";
import { Icon } from "./icon";
import styles from "./marks.module.css";

export type Basis = "published" | "vendor" | "assumed" | "modelled" | "measured" | "default";

const BASIS_TITLE: Record<Basis, string> = {
  published: "Published in the cited source",
  vendor: "Vendor: from a data sheet or list price",
  assumed: "Assumed: our estimate, without a published source",
  modelled: "Modelled: computed by the engine, not measured",
  measured: "Measured on running machines",
  default: "Default value",
};

/** Where a value comes from; the border differs too, so that colour is never the only cue. */
export function BasisBadge({ basis, children }: { basis: string; children?: ReactNode }) {
  const known = basis in BASIS_TITLE ? (basis as Basis) : undefined;
  return (
    <span className={cx(styles.badge, known && styles[known])} title={known && BASIS_TITLE[known]}>
      {children ?? basis}
    </span>
  );
}

export function Badge({ children, title }: { children: ReactNode; title?: string }) {
  return (
    <span className={styles.badge} title={title}>
      {children}
    </span>
  );
}

/**
 * Which way is an improvement: fewer dollars are better, more bisection is better, racks are
 * neither.
 */
export type Better = "less" | "more" | "neither";

/**
 * A signed change with an arrow and a colour. Renders nothing for no change.
 * `text` is the formatted magnitude with its sign.
 */
export function Delta({ value, text, better = "less" }: { value: number; text: string; better?: Better }) {
  if (value === 0 || !Number.isFinite(value)) return null;
  const up = value > 0;
  const good = better === "neither" ? null : up === (better === "more");
  const look = good === null ? styles.neutral : good ? styles.better : styles.worse;
  const verdict = good === null ? "" : good ? ", better" : ", worse";
  return (
    <span className={cx(styles.delta, look)}>
      <Icon name={up ? "up" : "down"} size={10} />
      {text}
      <span className="visually-hidden">{verdict}</span>
    </span>
  );
}

export function Kbd({ children }: { children: ReactNode }) {
  return <kbd className={styles.kbd}>{children}</kbd>;
}

export function Skeleton({
  width = "100%",
  height = 16,
}: {
  width?: number | string;
  height?: number | string;
}) {
  return <span className={styles.skeleton} style={{ width, height }} aria-hidden="true" />;
}

/** Placeholders for the rows of a list while it loads; `inset` adds margins at the sides. */
export function Skeletons({
  count,
  height = 28,
  inset,
}: {
  count: number;
  height?: number;
  inset?: boolean;
}) {
  return (
    <div className={styles.skeletons} data-inset={inset}>
      {Array.from({ length: count }, (_, at) => (
        <Skeleton key={at} height={height} />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={styles.empty}>
      <strong>{title}</strong>
      {children}
    </div>
  );
}

export function Swatch({ colour, style }: { colour: string; style?: CSSProperties }) {
  return <span className={styles.swatch} style={{ background: colour, ...style }} aria-hidden="true" />;
}
