import type { ReactNode } from "react";
import { formatNumber } from "@/units";
import styles from "./example-note.module.css";

/**
 * Over an answer that came with the program: whose question it answers, what that took, and how to
 * get one's own.
 */
export function ExampleNote({ secs, press, children }: { secs: number; press: string; children: ReactNode }) {
  return (
    <p className={styles.note}>
      <strong>Example</strong> that comes with the program: {children}. Computing it took{" "}
      {formatNumber(Math.max(1, Math.round(secs)))} s on two busy cores. {press} computes yours.
    </p>
  );
}
