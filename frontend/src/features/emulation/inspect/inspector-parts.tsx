/** Parts that the inspector's views share. */
import type { ReactNode } from "react";
import { formatBitsPerSec } from "@/units";
import type { Tick } from "../session/frames";
import { type Item, type Network, nodeName } from "../session/network";
import type { Session } from "../session/session";
import styles from "./inspector-parts.module.css";

export interface InspectorProps {
  /** The id of the run while its servers can be queried; null afterwards and in the past. */
  liveRun: string | null;
  session: Session;
  network: Network;
  item: Item | null;
  tick: Tick | null;
  at: number;
  /** The kind of fault that affects it. */
  broken: string | null;
  onSelect: (item: Item | null) => void;
}

export const rateText = (bytes: number | undefined, tick: Tick | null) =>
  tick && bytes !== undefined ? formatBitsPerSec((bytes * 8) / tick.secs) : "–";

export function Facts({ rows }: { rows: [string, ReactNode][] }) {
  return (
    <dl className={styles.facts}>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export const pathText = (network: Network, path: readonly number[] | undefined) =>
  path ? path.map((server) => nodeName(network, server)).join(" · ") : "unknown";
