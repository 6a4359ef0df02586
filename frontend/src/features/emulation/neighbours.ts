/** What was told of a server's neighbours. */
import type { Network } from "./network";
import type { Session } from "./session";

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
