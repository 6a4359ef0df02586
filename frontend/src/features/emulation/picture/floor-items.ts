/** Converts between the session's rows and the plan's devices and cables. */
import type { Selection } from "@/scene/selection";
import type { Struck } from "@/scene/struck";
import { faultKind } from "@/shared/faults/fault-kinds";
import { type Broken, type Item, type Network, type Node, nodeOf, type Step } from "../session/network";

const deviceOf = ({ frame: { servers, switches } }: Network, node: Node): number =>
  (node < servers.id.length ? servers.id[node] : switches.id[node - servers.id.length]) ?? -1;

/** The failed and degraded items, each with its fault in words. */
export function struckOf(network: Network, { nodes, links, degraded }: Broken): Struck {
  const named = (of: ReadonlyMap<number, string>, idOf: (row: number) => number) =>
    new Map([...of].map(([row, kind]) => [idOf(row), faultKind(kind).title.toLowerCase()]));
  const cableOf = (row: number) => network.frame.links.id[row]!;
  return {
    dead: named(nodes, (node) => deviceOf(network, node)),
    cut: named(links, cableOf),
    degraded: named(degraded, cableOf),
  };
}

/** Links of items and of a flow's path as cables; without links, the items as devices. */
export function floorSelection(network: Network, items: readonly Item[], path: readonly Step[]): Selection {
  const links = [
    ...items.filter(({ kind }) => kind === "link").map(({ row }) => row),
    ...path.map(({ link }) => link),
  ];
  if (links.length > 0) return { kind: "cable", ids: links.map((row) => network.frame.links.id[row]!) };
  const nodes = items.filter(({ kind }) => kind === "server" || kind === "switch");
  if (nodes.length === 0) return null;
  return { kind: "device", ids: nodes.map((item) => deviceOf(network, nodeOf(network, item))) };
}
