/** What the inspector's views share. */
import type { ReactNode } from "react";
import { formatBitsPerSec } from "@/units";
import type { Tick } from "./frames";
import { type Item, type Network, nodeName } from "./network";
import type { Session } from "./session";
import side from "./side.module.css";

export interface InspectorProps {
  /** The run, while its servers can be asked; null afterwards and in the past. */
  liveRun: string | null;
  session: Session;
  network: Network;
  item: Item | null;
  tick: Tick | null;
  at: number;
  /** What broke it, as a kind of fault. */
  broken: string | null;
  onSelect: (item: Item | null) => void;
}

export const rateText = (bytes: number | undefined, tick: Tick | null) =>
  tick && bytes !== undefined ? formatBitsPerSec((bytes * 8) / tick.secs) : "–";

export function Facts({ rows }: { rows: [string, ReactNode][] }) {
  return (
    <dl className={side.facts}>
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
  path ? path.map((server) => nodeName(network, server)).join(" · ") : "not known";
