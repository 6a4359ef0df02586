import type { ReactNode } from "react";
import styles from "./block.module.css";

/** A titled part of a run's page; `aside` follows the title. */
export function Block({
  label,
  title = label,
  aside,
  children,
}: {
  label: string;
  title?: string;
  aside?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className={styles.block} aria-label={label}>
      <div className={styles.head}>
        <h2>{title}</h2>
        {typeof aside === "string" ? <span className="muted plain">{aside}</span> : aside}
      </div>
      {children}
    </section>
  );
}
