/** The tooltip of the item under the pointer or at the keyboard focus. */
import type { CSSProperties } from "react";
import { faultKind } from "@/shared/faults/fault-kinds";
import { formatBitsPerSec, formatPercent, plural } from "@/units";
import type { Tick } from "../session/frames";
import {
  type Broken,
  breakOf,
  degrades,
  hostNameOf,
  type Item,
  itemName,
  itemOfNode,
  type Network,
  nodeName,
  nodeOf,
  rateOf,
} from "../session/network";
import { boxOf, type Layout, pointOn } from "./layouts/layout";
import styles from "./picture-tooltip.module.css";

export type Hover = { node: number } | { link: number };

export const hoveredItem = (network: Network, hover: Hover): Item =>
  "node" in hover ? itemOfNode(network, hover.node) : { kind: "link", row: hover.link };

export function PictureTooltip({
  network,
  tick,
  broken,
  hover,
  layout,
  zoom,
  size,
}: {
  network: Network;
  tick: Tick | null;
  broken: Broken;
  hover: Hover;
  layout: Layout;
  zoom: { k: number; x: number; y: number };
  size: { width: number; height: number };
}) {
  const item = hoveredItem(network, hover);
  return (
    <div className={styles.tooltip} style={placeOf(layout, hover, zoom, size)}>
      <strong>{itemName(network, item)}</strong>
      {linesOf(network, tick, broken, item).map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  );
}

/** The same in one sentence, for screen readers. */
export function spokenOf(network: Network, tick: Tick | null, broken: Broken, hover: Hover | null): string {
  if (!hover) return "";
  const item = hoveredItem(network, hover);
  return [`${item.kind} ${itemName(network, item)}`, ...linesOf(network, tick, broken, item)].join(", ");
}

function placeOf(
  layout: Layout,
  hover: Hover,
  zoom: { k: number; x: number; y: number },
  size: { width: number; height: number },
): CSSProperties {
  let [x, y] = [0, 0];
  if ("node" in hover) {
    const box = boxOf(layout, hover.node);
    [x, y] = [box.x + box.width / 2, box.y + box.height];
  } else ({ x, y } = pointOn(layout, hover.link, 0.5));
  [x, y] = [x * zoom.k + zoom.x, y * zoom.k + zoom.y];
  return {
    ...(x > size.width - 220 ? { right: size.width - x + 8 } : { left: x + 8 }),
    ...(y > size.height - 90 ? { bottom: size.height - y + 8 } : { top: y + 8 }),
  };
}

/** A device's host name, the fault of an item, and its values in a tick, as lines. */
function linesOf(network: Network, tick: Tick | null, broken: Broken, item: Item): string[] {
  const isDevice = item.kind === "server" || item.kind === "switch";
  const hostName = isDevice ? hostNameOf(network, nodeOf(network, item)) : null;
  const why = breakOf(network, broken, item);
  const fault = why
    ? [`${degrades(why) ? "Degraded" : "Failed"}: ${faultKind(why).title.toLowerCase()}`]
    : [];
  return [...(hostName === null ? [] : [hostName]), ...fault, ...loadOf(network, tick, item)];
}

function loadOf(network: Network, tick: Tick | null, { kind, row }: Item): string[] {
  if (kind === "switch") return [plural(network.linksOf[network.servers + row]!.length, "link")];
  if (!tick) return [];
  const rate = (bytes: number) => formatBitsPerSec((bytes * 8) / tick.secs);
  if (kind === "server")
    return [
      `received ${rate(tick.received[row]!)}`,
      `relayed ${rate(tick.relayed[row]!)}`,
      `CPU ${formatPercent(tick.serverCpu[row])} of a core`,
    ];
  const [a, b] = [nodeName(network, network.a[row]!), nodeName(network, network.b[row]!)];
  const share = (bytes: number) => formatPercent((bytes * 8) / tick.secs / rateOf(network, row));
  return [
    `${a} → ${b} ${rate(tick.ab[row]!)} (${share(tick.ab[row]!)})`,
    `${b} → ${a} ${rate(tick.ba[row]!)} (${share(tick.ba[row]!)})`,
  ];
}
