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

/** What a link has carried in one direction up to a time. */
interface Sent {
  bytes: number;
  packets: number;
  drops: number;
}

/** [from a to b, from b to a] */
function sentUntil(history: readonly Tick[], row: number, at: number): [Sent, Sent] {
  const sums: [Sent, Sent] = [
    { bytes: 0, packets: 0, drops: 0 },
    { bytes: 0, packets: 0, drops: 0 },
  ];
  for (const tick of history) {
    if (tick.at > at) break;
    const [, ...drops] = tick.linkDrops.find(([link]) => link === row) ?? [row, 0, 0];
    sums.forEach((sum, way) => {
      sum.bytes += (way === 0 ? tick.ab : tick.ba)[row]!;
      sum.packets += (way === 0 ? tick.abPackets : tick.baPackets)?.[row] ?? 0;
      sum.drops += drops[way] ?? 0;
    });
  }
  return sums;
}

export function LinkView({ session, network, tick, at, row, onSelect }: InspectorProps & { row: number }) {
  const [a, b] = [network.a[row]!, network.b[row]!];
  const sums = useMemo(() => sentUntil(session.history, row, at), [session.history, row, at]);
  const now = (rows: Tick["queues"] | undefined) => rows?.find(([link]) => link === row)?.slice(1) ?? [];
  const [queues, drops] = [now(tick?.queues), now(tick?.linkDrops)];
  const packets = [tick?.abPackets?.[row], tick?.baPackets?.[row]];
  const end = (node: number) => (
    <button type="button" className={side.link} onClick={() => onSelect(itemOfNode(network, node))}>
      {nodeName(network, node)}
    </button>
  );
  const rows: [string, (way: 0 | 1) => string][] = [
    ["Load", (way) => rateText((way === 0 ? tick?.ab : tick?.ba)?.[row], tick)],
    ["Packets a second", (way) => perSecText(packets[way], tick)],
    ["Queue", (way) => formatBytes(queues[way] ?? 0)],
    ["Drops", (way) => formatCount(drops[way] ?? 0)],
    ["Drops in all", (way) => formatCount(sums[way].drops)],
    ["Carried in all", (way) => formatBytes(sums[way].bytes)],
    ["Packets in all", (way) => (tick?.abPackets ? formatCount(sums[way].packets) : "–")],
  ];
  return (
    <>
      <Facts
        rows={[
          [
            "Ends",
            <span key="ends">
              {end(a)} and {end(b)}
            </span>,
          ],
          ["Rate each way", formatBitsPerSec(network.frame.rate_bits_per_sec)],
        ]}
      />
      <table className={styles.table}>
        <thead>
          <tr>
            <td />
            <th scope="col" className={styles.number}>
              to {nodeName(network, b)}
            </th>
            <th scope="col" className={styles.number}>
              to {nodeName(network, a)}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, text]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className={styles.number}>{text(0)}</td>
              <td className={styles.number}>{text(1)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function perSecText(count: number | undefined, tick: Tick | null): string {
  return count === undefined || !tick ? "–" : formatCount(Math.round(count / tick.secs));
}
