/** A link and a switch in the inspector: the traffic on their cables. */
import { useMemo } from "react";
import { ColumnHeads } from "@/ui/column-heads";
import { Section } from "@/ui/form";
import { formatBitsPerSec, formatBytes, formatCount, levelShortLabel } from "@/units";
import shared from "../common.module.css";
import type { Tick } from "../session/frames";
import {
  hostNameOf,
  type Item,
  itemName,
  itemOfNode,
  type Network,
  nodeName,
  rateOf,
} from "../session/network";
import { Captures } from "./captures";
import common from "./common.module.css";
import { Facts, type InspectorProps, rateText } from "./inspector-parts";
import { SwitchRoutes } from "./switch-routes";

export function SwitchView({ network, tick, row, onSelect, liveRun }: InspectorProps & { row: number }) {
  const node = network.servers + row;
  const hostName = hostNameOf(network, node);
  return (
    <>
      <Facts
        rows={[
          ...(hostName === null ? [] : [["Host name", hostName] satisfies [string, string]]),
          ["Level", levelShortLabel(network.level[node]!)],
          ["Links", formatCount(network.linksOf[node]!.length)],
        ]}
      />
      <LinksTable network={network} tick={tick} node={node} onSelect={onSelect} />
      {liveRun && <SwitchRoutes run={liveRun} network={network} node={node} onSelect={onSelect} />}
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
    <table className={shared.table}>
      <ColumnHeads
        columns={[
          "Link to",
          { title: "In", className: shared.number },
          { title: "Out", className: shared.number },
        ]}
      />
      <tbody>
        {network.linksOf[node]!.map((link) => {
          const forth = network.a[link] === node;
          return (
            <tr key={link}>
              <td>
                <button
                  type="button"
                  className={common.link}
                  onClick={() => onSelect({ kind: "link", row: link })}
                >
                  {nodeName(network, forth ? network.b[link]! : network.a[link]!)}
                </button>
              </td>
              <td className={shared.number}>{rateText(forth ? tick?.ba[link] : tick?.ab[link], tick)}</td>
              <td className={shared.number}>{rateText(forth ? tick?.ab[link] : tick?.ba[link], tick)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** The traffic of a link in one direction up to a time. */
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
    const [, ...drops] = tick.rows.link_drops?.find(([link]) => link === row) ?? [row, 0, 0];
    sums.forEach((sum, way) => {
      sum.bytes += (way === 0 ? tick.ab : tick.ba)[row]!;
      sum.packets += (way === 0 ? tick.abPackets : tick.baPackets)?.[row] ?? 0;
      sum.drops += drops[way] ?? 0;
    });
  }
  return sums;
}

export function LinkView(props: InspectorProps & { row: number }) {
  const { session, network, tick, at, row, liveRun, onSelect } = props;
  const linkName = itemName(network, { kind: "link", row });
  const [a, b] = [network.a[row]!, network.b[row]!];
  const sums = useMemo(() => sentUntil(session.history, row, at), [session.history, row, at]);
  const now = (name: "queues" | "link_drops") =>
    tick?.rows[name]?.find(([link]) => link === row)?.slice(1) ?? [];
  const [queues, drops] = [now("queues"), now("link_drops")];
  const packets = [tick?.abPackets?.[row], tick?.baPackets?.[row]];
  const end = (node: number) => (
    <button type="button" className={common.link} onClick={() => onSelect(itemOfNode(network, node))}>
      {nodeName(network, node)}
    </button>
  );
  const rows: [string, (way: 0 | 1) => string][] = [
    ["Load", (way) => rateText((way === 0 ? tick?.ab : tick?.ba)?.[row], tick)],
    ["Packets per second", (way) => perSecText(packets[way], tick)],
    ["Queue", (way) => formatBytes(queues[way] ?? 0)],
    ["Drops", (way) => formatCount(drops[way] ?? 0)],
    ["Total drops", (way) => formatCount(sums[way].drops)],
    ["Total carried", (way) => formatBytes(sums[way].bytes)],
    ["Total packets", (way) => (tick?.abPackets ? formatCount(sums[way].packets) : "–")],
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
          ["Rate per direction", formatBitsPerSec(rateOf(network, row))],
        ]}
      />
      <table className={shared.table}>
        <thead>
          <tr>
            <td />
            <th scope="col" className={shared.number}>
              to {nodeName(network, b)}
            </th>
            <th scope="col" className={shared.number}>
              to {nodeName(network, a)}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, text]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className={shared.number}>{text(0)}</td>
              <td className={shared.number}>{text(1)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Section title="Packet captures">
        <Captures target={{ link: linkName }} name={linkName} live={liveRun !== null} />
      </Section>
    </>
  );
}

function perSecText(count: number | undefined, tick: Tick | null): string {
  return count === undefined || !tick ? "–" : formatCount(Math.round(count / tick.secs));
}
