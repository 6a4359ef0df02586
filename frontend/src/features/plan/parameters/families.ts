/**
 * The topology families as the engine describes them (GET /topologies), checked, and their fields
 * in the form.
 */
import type { Json, JsonObject, TopologySpec } from "@/shared/plans/spec";

export interface Parameter {
  name: string;
  letter: string | null;
  title: string;
  kind: "integer" | "number" | "enum" | "list" | "nodes" | "links";
  list: boolean;
  min: number | null;
  max: number | null;
  default: number | null;
  default_doc: string | null;
  unit: string | null;
  doc: string;
  required: boolean;
  choices?: { value: number; title: string }[];
}

export interface Family {
  family: string;
  title: string;
  summary: string;
  source: string;
  parameters: Parameter[];
  example: TopologySpec;
  presets: { title: string; spec: TopologySpec }[];
}

/** "8" or "10, 25" to a number or a list; null when it is neither, undefined when empty. */
export function parseList(text: string): number | number[] | null | undefined {
  const parts = text
    .split(/[,;\s]+/)
    .map((part) => part.trim())
    .filter(Boolean);
  if (parts.length === 0) return undefined;
  const numbers = parts.map(Number);
  if (numbers.some((n) => !Number.isFinite(n))) return null;
  return numbers.length === 1 ? numbers[0]! : numbers;
}

export function listText(value: Json | undefined): string {
  if (Array.isArray(value)) return value.join(", ");
  return value === undefined || value === null ? "" : String(value);
}

/** Levels above level 0 that the page offers: each adds a port to every server. */
const MOST_K = 7;

/** A partial BCube is whole BCube_{k-1} groups with full level-k switches. [bcube §5.1] */
export function bcubeGroups(
  topology: JsonObject,
): { groups: number; of: number; groupServers: number } | null {
  const { n, k, servers } = topology;
  if (typeof n !== "number" || typeof k !== "number" || n < 2 || k < 1) return null;
  const groupServers = n ** k;
  const total = typeof servers === "number" ? servers : groupServers * n;
  const groups = total / groupServers;
  return Number.isInteger(groups) ? { groups, of: n, groupServers } : null;
}

/** The topology with another number of top-level groups; all of them is the complete BCube. */
export function withGroups(topology: TopologySpec, groups: number): TopologySpec {
  const { n, k } = topology as unknown as { n: number; k: number };
  const { servers: _, ...rest } = topology;
  return (groups >= n ? rest : { ...rest, servers: groups * n ** k }) as TopologySpec;
}

/**
 * The topology with this number of servers, with the number of BCube levels that it requires; null
 * if there is no such network.
 */
export function withServers(topology: TopologySpec, servers: number): TopologySpec | null {
  const { n } = topology as unknown as { n: number };
  if (topology.family !== "bcube" || !(n >= 2)) return null;
  let k = 0;
  while (n ** (k + 1) < servers) k += 1;
  if (k > MOST_K || servers % n ** k !== 0) return null;
  return withGroups({ ...topology, k } as TopologySpec, servers / n ** k);
}

/**
 * Changing n or k of a BCube keeps its share of groups, at least one, so that all steps are valid;
 * a typed number of `servers` is not changed.
 */
export function withBcubeSize(topology: TopologySpec, name: "n" | "k", value: number): TopologySpec {
  const before = bcubeGroups(topology);
  const next = { ...topology, [name]: value } as TopologySpec;
  if (!before || typeof topology.servers !== "number" || value < 1) return next;
  const n = next.n as number;
  const groups = Math.min(
    n,
    Math.max(1, name === "n" ? Math.round((before.groups / before.of) * n) : before.groups),
  );
  return withGroups(next, groups);
}
