/** The selected thing as it is at the shown time: a server's neighbours and flows, a link's rates, a flow's ways. */
import { type ReactNode, useMemo } from "react";
import { Button } from "@/ui/button";
import { Section } from "@/ui/form";
import { formatBitsPerSec, formatBytes, formatCount, formatPercent, levelShortLabel, plural } from "@/units";
import styles from "./emulation.module.css";
import { FidelityMark } from "./fidelity-mark";
import type { Tick } from "./frames";
import { type Item, itemName, itemOfNode, type Network, nodeName } from "./network";
import { secsText } from "./series";
import { ServerAccount } from "./server-account";
import { routeAt, type Session } from "./session";
import side from "./side.module.css";

interface Props {
  /** The run, while its servers can be asked; null afterwards and in the past. */
  liveRun: string | null;
  session: Session;
  network: Network;
  item: Item | null;
  tick: Tick | null;
  at: number;
  broken: boolean;
  onSelect: (item: Item | null) => void;
}

export function Inspector(props: Props) {
  const { network, item, session, broken, onSelect } = props;
  if (!item)
    return (
      <div className={side.hint}>
        <p>Choose a server, a switch or a link in the picture, or a flow from the log, to look into it.</p>
        <FlowPicker network={network} onSelect={onSelect} />
      </div>
    );
  return (
    <div className={side.inspector} data-testid="inspector">
      <div className={side.itemHead}>
        <h3>
          <span className={styles.muted}>{item.kind}</span> {itemName(network, item)}
        </h3>
        {broken && <span className={side.brokenMark}>broken</span>}
        <span className={styles.space} />
        <FidelityMark fidelity={session.report?.fidelity ?? null} />
        <Button small look="quiet" icon="close" onClick={() => onSelect(null)}>
          Clear
        </Button>
      </div>
      {item.kind === "server" && <ServerView {...props} row={item.row} />}
      {item.kind === "switch" && <SwitchView {...props} row={item.row} />}
      {item.kind === "link" && <LinkView {...props} row={item.row} />}
      {item.kind === "flow" && <FlowView {...props} row={item.row} />}
    </div>
  );
}

function FlowPicker({ network, onSelect }: { network: Network; onSelect: (item: Item) => void }) {
  const shown = Math.min(network.flows, 400);
  return (
    <label className={side.pick}>
      Follow a flow
      <select
        className={side.select}
        value=""
        onChange={(event) =>
          event.target.value !== "" && onSelect({ kind: "flow", row: Number(event.target.value) })
        }
      >
        <option value="">{plural(network.flows, "flow")}…</option>
        {Array.from({ length: shown }, (_, row) => (
          <option key={row} value={row}>
            {itemName(network, { kind: "flow", row })}
          </option>
        ))}
      </select>
    </label>
  );
}

const rateText = (bytes: number | undefined, tick: Tick | null) =>
  tick && bytes !== undefined ? formatBitsPerSec((bytes * 8) / tick.secs) : "–";

function Facts({ rows }: { rows: [string, ReactNode][] }) {
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

function ServerView(props: Props & { row: number }) {
  const { network, tick, row, liveRun } = props;
  const retransmits = (tick?.retransmits ?? [])
    .filter(([flow]) => network.flowSource[flow] === row)
    .reduce((sum, [, count]) => sum + count, 0);
  return (
    <>
      <Facts
        rows={[
          ["Receives", rateText(tick?.received[row], tick)],
          ["Relays", rateText(tick?.relayed[row], tick)],
          ["CPU", tick ? `${formatPercent(tick.serverCpu[row])} of a core` : "–"],
          ["Retransmits now", formatCount(retransmits)],
          ["Drops now, whole network", dropsText(tick)],
        ]}
      />
      {liveRun ? (
        <ServerAccount run={liveRun} network={network} row={row} onSelect={props.onSelect} />
      ) : (
        <ServerRecord {...props} />
      )}
    </>
  );
}

/** What was recorded of a server: for the past, where it can no longer be asked. */
function ServerRecord({ session, network, tick, at, row, onSelect }: Props & { row: number }) {
  const neighbours = useMemo(() => neighboursOf(session, network, row, at), [session, network, row, at]);
  const flows = useMemo(() => {
    const own: number[] = [];
    for (let flow = 0; flow < network.flows; flow++) if (network.flowSource[flow] === row) own.push(flow);
    return own;
  }, [network, row]);
  return (
    <>
      <Section title="Neighbours, as this server sees them">
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">Server</th>
              <th scope="col">By</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {neighbours.map(({ server, by, alive, since, cause }) => (
              <tr key={`${by} ${server}`}>
                <td>
                  <button
                    type="button"
                    className={side.link}
                    onClick={() => onSelect({ kind: "server", row: server })}
                  >
                    {nodeName(network, server)}
                  </button>
                </td>
                <td>{nodeName(network, by)}</td>
                <td data-tone={alive ? "good" : "bad"}>
                  {alive ? "alive" : `dead${cause ? ` (${cause})` : ""}`}
                  {since !== null && <span className={styles.muted}> since {secsText(since)}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      <Section title={`Paths of its ${plural(flows.length, "flow")}`}>
        <div className={side.scrollTable}>
          <table className={styles.table}>
            <thead>
              <tr>
                <th scope="col">To</th>
                <th scope="col">Way</th>
                <th scope="col" className={styles.number}>
                  Now
                </th>
              </tr>
            </thead>
            <tbody>
              {flows.slice(0, 200).map((flow) => (
                <tr key={flow}>
                  <td>
                    <button
                      type="button"
                      className={side.link}
                      onClick={() => onSelect({ kind: "flow", row: flow })}
                    >
                      {nodeName(network, network.flowDestination[flow]!)}
                    </button>
                  </td>
                  <td>{pathText(network, routeAt(session, flow, at)?.path)}</td>
                  <td className={styles.number}>{rateText(tick?.flows?.[flow], tick)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Section>
    </>
  );
}

function SwitchView({ network, tick, row, onSelect }: Props & { row: number }) {
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

function LinkView({ session, network, tick, at, row, onSelect }: Props & { row: number }) {
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

function FlowView({ session, network, tick, at, row, onSelect }: Props & { row: number }) {
  const routes = session.routes.get(row) ?? [];
  const now = routeAt(session, row, at);
  const retransmits = tick?.retransmits.find(([flow]) => flow === row)?.[1] ?? 0;
  return (
    <>
      <Facts
        rows={[
          ["Goodput", rateText(tick?.flows?.[row], tick)],
          ["Ideal", formatBitsPerSec(network.frame.flows.ideal_bits_per_sec[row])],
          ["Retransmits now", formatCount(retransmits)],
          ["Goes", pathText(network, now?.path)],
        ]}
      />
      <Section title={`Ways it took (${routes.length})`}>
        <ol className={side.routes} data-testid="routes">
          {[...routes].reverse().map((route) => (
            <li key={`${route.at} ${route.path.join("-")}`} data-now={route === now || undefined}>
              <span className={side.entryTime}>{secsText(route.at)}</span>
              <span>
                {route.path.map((server, hop) => (
                  <span key={server}>
                    {hop > 0 && " → "}
                    <button
                      type="button"
                      className={side.link}
                      onClick={() => onSelect({ kind: "server", row: server })}
                    >
                      {nodeName(network, server)}
                    </button>
                  </span>
                ))}
              </span>
            </li>
          ))}
        </ol>
      </Section>
    </>
  );
}

const pathText = (network: Network, path: readonly number[] | undefined) =>
  path ? path.map((server) => nodeName(network, server)).join(" · ") : "not known";

function dropsText(tick: Tick | null): string {
  const reasons = Object.entries(tick?.drops ?? {});
  return reasons.length === 0
    ? "none"
    : reasons.map(([reason, count]) => `${reason.replaceAll("_", " ")} ${formatCount(count)}`).join(", ");
}

interface Neighbour {
  server: number;
  /** The switch between, as a node. */
  by: number;
  alive: boolean;
  since: number | null;
  cause: string | null;
}

/** Who shares a switch with a server, and whether it holds them for alive. */
export function neighboursOf(session: Session, network: Network, row: number, at: number): Neighbour[] {
  const id = network.frame.servers.id[row];
  const told = new Map<number, { alive: boolean; since: number; cause: string | null }>();
  for (const { kind, server, neighbour, at_secs, cause } of session.events)
    if (server === id && at_secs <= at && neighbour !== undefined && kind.startsWith("neighbour_"))
      told.set(neighbour, { alive: kind === "neighbour_alive", since: at_secs, cause: cause ?? null });
  const found: Neighbour[] = [];
  const other = (link: number, node: number) =>
    network.a[link] === node ? network.b[link]! : network.a[link]!;
  for (const link of network.linksOf[row]!) {
    const by = other(link, row);
    for (const far of by < network.servers ? [] : network.linksOf[by]!) {
      const server = other(far, by);
      if (server === row || server >= network.servers) continue;
      const said = told.get(network.frame.servers.id[server]!);
      found.push({
        server,
        by,
        alive: said?.alive ?? true,
        since: said?.since ?? null,
        cause: said?.cause ?? null,
      });
    }
  }
  return found;
}
