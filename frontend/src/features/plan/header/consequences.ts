/**
 * Side effects of a change of parameters that the user did not type: another number of servers,
 * another enclosure.
 */
import type { Summary } from "@/api/types";
import { canonical, getIn, type PlanSpec, type TopologySpec } from "@/shared/plans/spec";
import { formatCount } from "@/units";

export interface Known {
  spec: PlanSpec;
  summary: Summary;
}

export interface Consequence {
  what: "servers" | "enclosure";
  title: string;
  before: string;
  after: string;
}

const ENCLOSURES: Record<string, string> = {
  rows: "open rows",
  "container-20ft": "20 ft container",
  "container-40ft": "40 ft container",
  custom: "custom enclosure",
};

/**
 * The side effects of a change within one family; empty if the user requested the change: a number
 * of servers, an enclosure, another family.
 */
export function consequences(before: Known, after: Known): Consequence[] {
  const [a, b] = [before.spec, after.spec];
  if (a.topology.family !== b.topology.family) return [];
  const changes: Consequence[] = [];
  const servers = [before, after].map((item) => item.summary.counts.servers) as [number, number];
  if (servers[0] !== servers[1] && !sameShape(a.topology, b.topology)) {
    const [from, to] = servers.map((count) => formatCount(count)) as [string, string];
    changes.push({ what: "servers", title: "Servers", before: from, after: to });
  }
  const [was, is] = [before, after].map((item) => enclosureOf(item.summary.spec as PlanSpec)) as [
    string,
    string,
  ];
  if (was !== is && canonical(getIn(a, "site.enclosure")) === canonical(getIn(b, "site.enclosure")))
    changes.push({
      what: "enclosure",
      title: "Enclosure",
      before: ENCLOSURES[was] ?? was,
      after: ENCLOSURES[is] ?? is,
    });
  return changes;
}

/** Whether two topologies differ only in the number of servers that exist. */
function sameShape(a: TopologySpec, b: TopologySpec): boolean {
  const shape = ({ servers: _, ...rest }: TopologySpec) => canonical(rest as TopologySpec);
  return shape(a) === shape(b);
}

const enclosureOf = (spec: PlanSpec): string => String(getIn(spec, "site.enclosure") ?? "");
