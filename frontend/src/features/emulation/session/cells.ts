/**
 * Formats values that a protocol reports, by the kind that it declares for them: the page contains
 * no code per protocol.
 */
import type { components } from "@/api/schema";
import { formatBitsPerSec, formatCount, formatShort } from "@/units";
import { type Network, nodeName } from "./network";

export type CellKind = components["schemas"]["Cell"]["kind"];

export interface FlowValue {
  src: string;
  dst: string;
  proto: number;
  sport: number;
  dport: number;
}

export interface PathValue {
  path_id?: number | null;
  servers: (number | string)[];
  available_bits_per_sec?: number | null;
  used?: boolean;
}

/** A server by its id, or a switch of a path; ids that are names already stay. */
export function serverName(network: Network, id: unknown): string {
  if (typeof id === "string") return id;
  const row = typeof id === "number" ? network.nodeAt.get(id) : undefined;
  return row === undefined ? "?" : nodeName(network, row);
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** As plain text; a value that is missing, or has the wrong type for its kind, is a dash. */
export function cellText(network: Network, kind: CellKind, value: unknown): string {
  if (value === null || value === undefined) return "–";
  const number = typeof value === "number" && Number.isFinite(value) ? value : null;
  switch (kind) {
    case "server":
      return serverName(network, value);
    case "servers":
      return listOf(value)
        .map((id) => serverName(network, id))
        .join(" · ");
    case "paths":
      return listOf(value)
        .map((path) => cellText(network, "servers", (path as PathValue).servers))
        .join("; ");
    case "flow": {
      const { src, dst, dport } = value as FlowValue;
      return `${src} → ${dst} port ${dport}`;
    }
    case "bits-per-sec":
      return number === null ? "–" : formatBitsPerSec(number);
    case "secs":
      return number === null ? "–" : `${formatShort(number, 1)}\u00a0s`;
    case "count":
      return number === null ? "–" : formatCount(number);
    case "flag":
      return value ? "yes" : "no";
    default:
      return String(value);
  }
}
