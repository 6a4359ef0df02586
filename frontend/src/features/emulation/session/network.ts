/**
 * The emulated network with the indices that the picture and the inspector need. Everything is
 * spoken of by row.
 */
import { faultKind } from "@/shared/faults/fault-kinds";
import type { NetworkFrame } from "./frames";

export type ItemKind = "server" | "switch" | "link" | "flow";

/** Something of the network, by its row. */
export interface Item {
  kind: ItemKind;
  row: number;
}

/** A node in one numbering: servers first, then switches. */
export type Node = number;

export interface Network {
  frame: NetworkFrame;
  servers: number;
  switches: number;
  links: number;
  flows: number;
  /** A server's row by its id in the plan. */
  serverRow: ReadonlyMap<number, number>;
  /** Servers and switches by the plan's id. */
  nodeAt: ReadonlyMap<number, Node>;
  /** Ends of each link, as nodes. */
  a: Int32Array;
  b: Int32Array;
  /** Links of each node. */
  linksOf: readonly (readonly number[])[];
  /**
   * -1 for a server, else the switch's level; in old recordings without levels, the highest level
   * of its links.
   */
  level: Int8Array;
  /** Ends of each flow, as rows of servers. */
  flowSource: Int32Array;
  flowDestination: Int32Array;
  /** Items by the name that faults and tables use. */
  byName: ReadonlyMap<string, Item>;
}

export function networkOf(frame: NetworkFrame): Network {
  const { servers, switches, links, flows } = frame;
  const serverRow = new Map(servers.id.map((id, row) => [id, row]));
  const node = new Map(servers.id.map((id, row) => [id, row]));
  switches.id.forEach((id, row) => {
    node.set(id, servers.id.length + row);
  });
  const ends = (ids: number[]) => Int32Array.from(ids, (id) => node.get(id) ?? -1);
  const [a, b] = [ends(links.a), ends(links.b)];
  const nodes = servers.id.length + switches.id.length;
  const linksOf: number[][] = Array.from({ length: nodes }, () => []);
  const level = new Int8Array(nodes).fill(-1);
  for (let link = 0; link < links.id.length; link++)
    for (const end of [a[link]!, b[link]!]) {
      linksOf[end]?.push(link);
      if (end >= servers.id.length) level[end] = Math.max(level[end]!, links.level[link]!);
    }
  switches.level?.forEach((value, row) => {
    level[servers.id.length + row] = value;
  });
  const rows = (ids: number[]) => Int32Array.from(ids, (id) => serverRow.get(id) ?? -1);
  const network: Network = {
    frame,
    servers: servers.id.length,
    switches: switches.id.length,
    links: links.id.length,
    flows: flows.source.length,
    serverRow,
    nodeAt: node,
    a,
    b,
    linksOf,
    level,
    flowSource: rows(flows.source),
    flowDestination: rows(flows.destination),
    byName: new Map(),
  };
  const byName = new Map<string, Item>();
  servers.name.forEach((name, row) => {
    byName.set(name, { kind: "server", row });
  });
  switches.name.forEach((name, row) => {
    byName.set(name, { kind: "switch", row });
  });
  for (let row = 0; row < network.links; row++) {
    const [near, other] = [nodeName(network, a[row]!), nodeName(network, b[row]!)];
    byName.set(`${near}/${other}`, { kind: "link", row });
    byName.set(`${other}/${near}`, { kind: "link", row });
  }
  return { ...network, byName };
}

/** The machine that a server is on, by the server's row; null where one machine has them all. */
export function hostOf({ frame }: Pick<Network, "frame">, server: number): string | null {
  const host = frame.hosts?.of_server[server];
  return host === undefined ? null : (frame.hosts?.name[host] ?? null);
}

export function nodeName({ frame }: Pick<Network, "frame">, node: Node): string {
  const { servers, switches } = frame;
  const count = servers.id.length;
  return (node < count ? servers.name[node] : switches.name[node - count]) ?? "?";
}

/** The name in the plan's tables, labels and exports; null in old recordings without host names. */
export function hostNameOf({ frame }: Pick<Network, "frame">, node: Node): string | null {
  const { servers, switches } = frame;
  const count = servers.id.length;
  return (node < count ? servers.host_name?.[node] : switches.host_name?.[node - count]) ?? null;
}

/** The capacity of a link in each direction. */
export const rateOf = ({ frame }: Pick<Network, "frame">, link: number): number =>
  frame.links.rate_bits_per_sec?.[link] ?? frame.rate_bits_per_sec;

/** The capacity of the fastest link in each direction. */
export const fastestOf = ({ frame }: Pick<Network, "frame">): number =>
  Math.max(frame.rate_bits_per_sec, ...(frame.links.rate_bits_per_sec ?? []));

/** As faults, tables and links of this page name it. */
export function itemName(network: Network, { kind, row }: Item): string {
  switch (kind) {
    case "server":
      return nodeName(network, row);
    case "switch":
      return nodeName(network, network.servers + row);
    case "link":
      return `${nodeName(network, network.a[row]!)}/${nodeName(network, network.b[row]!)}`;
    case "flow":
      return `${nodeName(network, network.flowSource[row]!)} → ${nodeName(network, network.flowDestination[row]!)}`;
  }
}

export const nodeOf = (network: Network, { kind, row }: Item): Node =>
  kind === "switch" ? network.servers + row : row;

export const itemOfNode = (network: Network, node: Node): Item =>
  node < network.servers ? { kind: "server", row: node } : { kind: "switch", row: node - network.servers };

/** The link between two nodes, or -1. */
function linkBetween(network: Network, near: Node, other: Node): number {
  for (const link of network.linksOf[near] ?? [])
    if (network.a[link] === other || network.b[link] === other) return link;
  return -1;
}

/** A link as a path goes over it. */
export interface Step {
  link: number;
  /** From end a to end b. */
  forth: boolean;
}

/**
 * The links of a path: two servers that follow each other without a link have the switch between
 * them that both are at.
 */
export function stepsOf(network: Network, path: readonly number[]): Step[] {
  const steps: Step[] = [];
  const step = (from: Node, to: Node, link: number) =>
    steps.push({ link, forth: network.a[link] === from && network.b[link] === to });
  for (let i = 1; i < path.length; i++) {
    const [from, to] = [path[i - 1]!, path[i]!];
    const direct = linkBetween(network, from, to);
    if (direct >= 0) {
      step(from, to, direct);
      continue;
    }
    for (const first of network.linksOf[from] ?? []) {
      const middle = network.a[first] === from ? network.b[first]! : network.a[first]!;
      const second = linkBetween(network, middle, to);
      if (second < 0) continue;
      step(from, middle, first);
      step(middle, to, second);
      break;
    }
  }
  return steps;
}

/** `server:00`, `link:00/<0,0>`, `flow:12`: for the address bar. */
export function writeItem(network: Network, item: Item | null): string | undefined {
  if (!item) return undefined;
  return `${item.kind}:${item.kind === "flow" ? item.row : itemName(network, item)}`;
}

/** Null for anything that this network does not have. */
export function readItem(network: Network, text: string | undefined): Item | null {
  const colon = text?.indexOf(":") ?? -1;
  if (text === undefined || colon < 1) return null;
  const [kind, name] = [text.slice(0, colon), text.slice(colon + 1)];
  if (kind === "flow") {
    const row = /^\d+$/.test(name) ? Number(name) : -1;
    return row >= 0 && row < network.flows ? { kind: "flow", row } : null;
  }
  const item = network.byName.get(name);
  return item?.kind === kind ? item : null;
}

/** Everything that is broken, with the kind of fault that broke it last. */
export interface Broken {
  nodes: ReadonlyMap<Node, string>;
  links: ReadonlyMap<number, string>;
  /** Links that still carry packets, but worse. */
  degraded: ReadonlyMap<number, string>;
}

/** Whether the target of a fault of this kind still carries packets. */
export const degrades = (kind: string): boolean => faultKind(kind).degrades;

export function brokenItems(
  network: Network,
  faults: readonly { kind: string; targets: readonly string[] }[],
): Broken {
  const nodes = new Map<Node, string>();
  const links = new Map<number, string>();
  const degraded = new Map<number, string>();
  for (const { kind, targets } of faults)
    for (const target of targets) {
      const item = network.byName.get(target);
      if (!item) continue;
      if (item.kind !== "link") nodes.set(nodeOf(network, item), kind);
      else (degrades(kind) ? degraded : links).set(item.row, kind);
    }
  return { nodes, links, degraded };
}

/** The kind of fault that affects an item; null if none does. */
export function breakOf(network: Network, { nodes, links, degraded }: Broken, item: Item): string | null {
  if (item.kind === "link") return links.get(item.row) ?? degraded.get(item.row) ?? null;
  return item.kind === "flow" ? null : (nodes.get(nodeOf(network, item)) ?? null);
}
