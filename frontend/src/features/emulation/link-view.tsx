/** A link and a switch in the inspector: what goes over their cables. */
import { useMemo } from "react";
import { formatBitsPerSec, formatBytes, formatCount, levelShortLabel } from "@/units";
import styles from "./emulation.module.css";
import type { Tick } from "./frames";
import { Facts, type InspectorProps, rateText } from "./inspector-parts";
import { type Item, itemOfNode, type Network, nodeName } from "./network";
import side from "./side.module.css";

export function SwitchView({ network, tick, row, onSelect }: InspectorProps & { row: number }) {
  const node = network.servers + row;
  return (
    <>
      <Facts
        rows={[
          ["Level", levelShortLabel(network.level[node]!)],
          ["Links", formatCount(network.linksOf[node]!.length)],
        ]}
      />
      <LinksTable network={network} tick={tick} node={node} onSelect={onSelect} />
    </>
  );
}

function LinksTable({
  network,
  tick,
  node,
  onSelect,
}: {
  network: Network;
  tick: Tick | null;
  node: number;
  onSelect: (item: Item) => void;
}) {
  return (
    <table className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Link to</th>
          <th scope="col" className={styles.number}>
            In
          </th>
          <th scope="col" className={styles.number}>
            Out
          </th>
        </tr>
      </thead>
      <tbody>
        {network.linksOf[node]!.map((link) => {
          const forth = network.a[link] === node;
          return (
            <tr key={link}>
              <td>
                <button
                  type="button"
                  className={side.link}
                  onClick={() => onSelect({ kind: "link", row: link })}
                >
                  {nodeName(network, forth ? network.b[link]! : network.a[link]!)}
                </button>
              </td>
              <td className={styles.number}>{rateText(forth ? tick?.ba[link] : tick?.ab[link], tick)}</td>
              <td className={styles.number}>{rateText(forth ? tick?.ab[link] : tick?.ba[link], tick)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

export function LinkView({ session, network, tick, at, row, onSelect }: InspectorProps & { row: number }) {
  const [a, b] = [network.a[row]!, network.b[row]!];
  const value = (pairs: Tick["queues"] | undefined) => pairs?.find(([link]) => link === row)?.[1] ?? 0;
  const total = useMemo(() => {
    let [bytes, drops] = [0, 0];
    for (const one of session.history) {
      if (one.at > at) break;
      bytes += one.ab[row]! + one.ba[row]!;
      drops += one.linkDrops.find(([link]) => link === row)?.[1] ?? 0;
    }
    return { bytes, drops };
  }, [session.history, row, at]);
  const end = (node: number) => (
    <button type="button" className={side.link} onClick={() => onSelect(itemOfNode(network, node))}>
      {nodeName(network, node)}
    </button>
  );
  return (
    <Facts
      rows={[
        [
          "Ends",
          <span key="ends">
            {end(a)} and {end(b)}
          </span>,
        ],
        [`${nodeName(network, a)} → ${nodeName(network, b)}`, rateText(tick?.ab[row], tick)],
        [`${nodeName(network, b)} → ${nodeName(network, a)}`, rateText(tick?.ba[row], tick)],
        ["Rate", formatBitsPerSec(network.frame.rate_bits_per_sec)],
        ["Queue", formatBytes(value(tick?.queues))],
        ["Drops, now and in all", `${formatCount(value(tick?.linkDrops))}, ${formatCount(total.drops)}`],
        ["Carried in all", formatBytes(total.bytes)],
      ]}
    />
  );
}
