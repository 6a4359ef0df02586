/** The reported state of a server's neighbours. */
import type { Network } from "../session/network";
import type { Session } from "../session/session";

interface Neighbour {
  server: number;
  /** The switch between, as a node; null for a cable from server to server. */
  by: number | null;
  link: number;
  alive: boolean;
  since: number | null;
  cause: string | null;
}

/**
 * The servers that share a switch or a cable with a server, and whether it holds them for alive.
 */
export function neighboursOf(session: Session, network: Network, row: number, at: number): Neighbour[] {
  const id = network.frame.servers.id[row];
  const latest = new Map<number, { alive: boolean; since: number; cause: string | null }>();
  for (const event of session.events)
    if (
      event.server === id &&
      event.at_secs <= at &&
      (event.kind === "neighbour-dead" || event.kind === "neighbour-alive")
    )
      latest.set(event.neighbour, {
        alive: event.kind === "neighbour-alive",
        since: event.at_secs,
        cause: event.kind === "neighbour-dead" ? event.cause : null,
      });
  const neighbours: Neighbour[] = [];
  const other = (link: number, node: number) =>
    network.a[link] === node ? network.b[link]! : network.a[link]!;
  const add = (server: number, by: number | null, link: number) => {
    const report = latest.get(network.frame.servers.id[server]!);
    const { alive, since, cause } = report ?? { alive: true, since: null, cause: null };
    neighbours.push({ server, by, link, alive, since, cause });
  };
  for (const link of network.linksOf[row]!) {
    const end = other(link, row);
    if (end < network.servers) add(end, null, link);
    else
      for (const far of network.linksOf[end]!) {
        const server = other(far, end);
        if (server !== row && server < network.servers) add(server, end, link);
      }
  }
  return neighbours;
}
