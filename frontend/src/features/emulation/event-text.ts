/** The session's log in words: what servers and the fabric told, and what was broken and mended, in order of time. */

import { plural } from "@/units";
import { faultKind } from "../shared/fault-kinds";
import type { SessionEvent } from "./frames";
import { type Network, nodeName } from "./network";
import type { Session } from "./session";

export interface LogEntry {
  at: number;
  kind: string;
  /** Where it was seen; empty for what concerns the session. */
  server: string;
  text: string;
  /** Row of the flow that it is about. */
  flow: number | null;
  /** Row of the server. */
  row: number | null;
  tone: "bad" | "good" | "plain";
}

const KIND_WORDS: Record<string, string> = {
  neighbour_dead: "Neighbour dead",
  neighbour_alive: "Neighbour alive",
  path_switched: "Path switched",
  path_failed: "Path failed",
  no_path: "No path",
  carrier: "Carrier",
  injected: "Injected",
  recovered: "Recovered",
  failed: "Fault failed",
  "stop-all": "Stop all",
  next_hop_dead: "Next hop dead",
  "flow-done": "Flow ended",
  "node-lost": "Node lost",
  "node-flooding": "Node floods",
  "node-refused": "Node refused",
  "events-left-out": "Left out",
};

export const kindWords = (kind: string): string =>
  KIND_WORDS[kind] ?? kind.replaceAll(/[-_]/g, " ").replace(/^./, (letter) => letter.toUpperCase());

const BAD = new Set([
  "neighbour_dead",
  "path_failed",
  "no_path",
  "injected",
  "failed",
  "next_hop_dead",
  "node-lost",
  "node-flooding",
  "node-refused",
  "events-left-out",
]);
const GOOD = new Set(["neighbour_alive", "recovered", "stop-all"]);
const toneOf = (kind: string): LogEntry["tone"] =>
  BAD.has(kind) ? "bad" : GOOD.has(kind) ? "good" : "plain";

/** The fabric's own word of what `fault` frames tell with their targets. */
const TOLD_TWICE = new Set(["fault-injected", "fault-recovered"]);

/** All that the log shows, the newest first. */
export function logOf(session: Session): LogEntry[] {
  const { network } = session;
  if (!network) return [];
  const entries = session.events
    .filter(({ kind }) => !TOLD_TWICE.has(kind))
    .map((event) => entryOf(network, event));
  for (const { state, at_secs, kind, id, targets, reason } of session.faults)
    entries.push({
      at: at_secs,
      kind: state,
      server: "",
      text: `${id} ${faultKind(kind).title}: ${targets.join(", ")}${reason ? `. ${reason}` : ""}`,
      flow: null,
      row: null,
      tone: toneOf(state),
    });
  for (const { at_secs, recovered, why } of session.stops)
    entries.push({
      at: at_secs,
      kind: "stop-all",
      server: "",
      text: `${recovered ? "Everything is mended" : "Not everything came back"} (${why})`,
      flow: null,
      row: null,
      tone: recovered ? "good" : "bad",
    });
  return entries.sort((a, b) => b.at - a.at);
}

function entryOf(network: Network, event: SessionEvent): LogEntry {
  const row = event.server === undefined ? null : (network.serverRow.get(event.server) ?? null);
  return {
    at: event.at_secs,
    kind: event.kind,
    server: row === null ? "" : nodeName(network, row),
    text: textOf(network, event),
    flow: event.flow ?? null,
    row,
    tone: event.kind === "flow-done" && event.reason ? "bad" : toneOf(event.kind),
  };
}

const CAUSES: Record<string, string> = {
  silence: "its hellos stopped",
  carrier: "the carrier is gone",
  report: "another server said so",
};

function textOf(network: Network, event: SessionEvent): string {
  const name = (id: number | undefined) => {
    const row = id === undefined ? undefined : network.serverRow.get(id);
    return row === undefined ? "?" : nodeName(network, row);
  };
  const flow = flowText(network, event);
  switch (event.kind) {
    case "neighbour_dead":
      return `${name(event.neighbour)} on port ${event.port}: ${CAUSES[event.cause ?? ""] ?? event.cause ?? ""}`;
    case "neighbour_alive":
      return `${name(event.neighbour)} on port ${event.port}`;
    case "path_switched":
      return `${flow} goes ${(event.path ?? []).map(name).join(" · ")} (${event.reason ?? ""})`;
    case "path_failed":
      return `${name(event.reporter)} cannot reach ${(event.unreachable ?? []).map(name).join(", ")}`;
    case "carrier":
      return `port ${event.port} ${event.up ? "has its carrier again" : "lost its carrier"}`;
    case "no_path":
      return `${flow} has none`;
    case "flow-done":
      return event.reason
        ? `${flow} broke: ${event.reason.replaceAll(ADDRESS, (address) => hostName(network, address))}`
        : `${flow} is over`;
    case "events-left-out":
      return `and ${plural(event.count ?? 0, "more event")} of ${event.server === undefined ? "the session" : name(event.server)}: it tells more than there is room for`;
    default:
      return [
        flow,
        ...Object.entries(event).flatMap(([key, value]) =>
          PLAIN.has(key) || value === null ? [] : [`${key} ${String(value)}`],
        ),
      ]
        .filter(Boolean)
        .join(", ");
  }
}

/** The fabric gives flow i of the workload this port and i. */
const FIRST_PORT = 5201;

/** A flow by its ends; what answers a flow of the workload (TCP's acknowledgements) is called so. */
function flowText(network: Network, { flow, tuple }: SessionEvent): string {
  const named = (row: number) =>
    `${nodeName(network, network.flowSource[row]!)} → ${nodeName(network, network.flowDestination[row]!)}`;
  if (flow !== undefined) return named(flow);
  if (!tuple) return "";
  const answered = tuple.sport - FIRST_PORT;
  if (answered >= 0 && answered < network.flows) return `answers to ${named(answered)}`;
  return `${hostName(network, tuple.src)} → ${hostName(network, tuple.dst)} port ${tuple.dport}`;
}

const ADDRESS = /\b10(\.\d{1,3}){3}\b/g;

/** A server by the address its applications use: 10.0.0.0/8 and its id, counted from 1. */
function hostName(network: Network, address: string): string {
  const [net, ...bytes] = address.split(".").map(Number);
  const id = bytes.reduce((sum, byte) => sum * 256 + byte, 0) - 1;
  const row = net === 10 ? network.serverRow.get(id) : undefined;
  return row === undefined ? address : nodeName(network, row);
}

const PLAIN = new Set(["kind", "at_secs", "at_nanos", "server", "flow", "tuple", "path"]);
