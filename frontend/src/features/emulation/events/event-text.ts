/**
 * The session's log in words: events of servers and of the fabric, faults and recoveries, in order
 * of time.
 */
import { faultKind, faultName } from "@/shared/faults/fault-kinds";
import { formatBytes, formatCount, plural } from "@/units";
import { type CellKind, cellText, serverName } from "../session/cells";
import type { SessionEvent } from "../session/frames";
import { type Network, nodeName } from "../session/network";
import { type Session, scheduledFaults } from "../session/session";

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

/** Titles of kinds whose name alone is not clear enough. */
const KIND_WORDS: Record<string, string> = {
  carrier: "Carrier changed",
  failed: "Fault failed",
  "flow-done": "Flow ended",
  "stop-all": "All faults recovered",
  "node-lost": "Server process lost",
  "program-ended": "Program of an image ended",
  "node-flooding": "Server process sends too many messages",
  "node-refused": "Message or connection at a server refused",
  "node-error": "Server process error",
  "strangers-refused": "Packets from elsewhere dropped",
  "events-left-out": "Events omitted",
  "host-silent": "Host silent, forgotten by its switch",
  "host-back": "Host is back",
};

export const kindWords = (kind: string): string =>
  KIND_WORDS[kind] ?? kind.replaceAll("-", " ").replace(/^./, (letter) => letter.toUpperCase());

const BAD = new Set([
  "neighbour-dead",
  "path-failed",
  "no-path",
  "subflow-down",
  "injected",
  "failed",
  "node-lost",
  "program-ended",
  "node-flooding",
  "node-refused",
  "node-error",
  "strangers-refused",
  "fabric-error",
  "events-lost",
  "events-left-out",
  "host-silent",
]);
const GOOD = new Set(["neighbour-alive", "subflow-up", "recovered", "stop-all", "host-back"]);
const toneOf = (kind: string): LogEntry["tone"] =>
  BAD.has(kind) ? "bad" : GOOD.has(kind) ? "good" : "plain";

/** Events of the fabric that duplicate `fault` frames, which also have the targets. */
const TOLD_TWICE = new Set(["fault-injected", "fault-recovered"]);

/** All entries of the log, the newest first. */
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
      text: `${faultName(id, scheduledFaults(session))} ${faultKind(kind).title}: ${targets.join(", ")}${reason ? `. ${reason}` : ""}`,
      flow: null,
      row: null,
      tone: toneOf(state),
    });
  for (const { at_secs, recovered, why } of session.stops)
    entries.push({
      at: at_secs,
      kind: "stop-all",
      server: "",
      text: `${recovered ? "Everything recovered" : "Not everything recovered"} (${why})`,
      flow: null,
      row: null,
      tone: recovered ? "good" : "bad",
    });
  return entries.sort((a, b) => b.at - a.at);
}

function entryOf(network: Network, event: SessionEvent): LogEntry {
  const row = event.server == null ? null : (network.serverRow.get(event.server) ?? null);
  return {
    at: event.at_secs,
    kind: event.kind === "protocol" ? event.name : event.kind,
    // A switch that is a router reports events, like servers.
    server: network.nodeAt.has(event.server ?? -1) ? serverName(network, event.server) : "",
    text: textOf(network, event),
    flow: "flow" in event ? (event.flow ?? null) : null,
    row,
    tone: event.kind === "flow-done" && event.reason ? "bad" : toneOf(event.kind),
  };
}

/**
 * Entries until a time, of one kind ("" is every kind), whose server or text contains the words.
 */
export function matching(
  entries: readonly LogEntry[],
  { kind, words, until }: { kind: string; words: string; until: number },
): LogEntry[] {
  const wanted = words.trim().toLowerCase();
  return entries.filter(
    (entry) =>
      entry.at <= until &&
      (kind === "" || entry.kind === kind) &&
      (wanted === "" || `${entry.server} ${entry.text}`.toLowerCase().includes(wanted)),
  );
}

const CAUSES: Record<string, string> = {
  silence: "hello messages stopped",
  carrier: "carrier lost",
  report: "reported by another server",
};
const REASONS: Record<string, string> = { adaptation: "load" };

function textOf(network: Network, event: SessionEvent): string {
  const name = (id: number) => serverName(network, id);
  switch (event.kind) {
    case "neighbour-dead":
      return `${name(event.neighbour)} on port ${event.port}: ${CAUSES[event.cause] ?? event.cause}`;
    case "neighbour-alive":
      return `${name(event.neighbour)} on port ${event.port}`;
    case "path-switched":
      return `${flowText(network, event)} rerouted: ${event.path.map(name).join(" · ")} (${REASONS[event.reason] ?? event.reason})`;
    case "path-failed":
      return `${name(event.reporter)} cannot reach ${event.unreachable.map(name).join(", ")}`;
    case "carrier":
      return `port ${event.port}: ${event.up ? "carrier is up" : "carrier is down"}`;
    case "no-path":
      return `${flowText(network, event)}: no path left`;
    case "subflow-up":
      return `${flowText(network, event)}, subflow ${event.subflow}${event.path ? `: ${event.path.map(name).join(" · ")}` : ""}`;
    case "subflow-down":
      return `${flowText(network, event)}, subflow ${event.subflow}: ${event.reason === "no-path" ? "no path left" : event.reason}`;
    case "flow-done":
      return event.reason
        ? `${flowText(network, event)} closed: ${event.reason}`
        : `${flowText(network, event)} completed`;
    case "node-flooding":
      return `${plural(event.messages, "message")} in a second`;
    case "strangers-refused":
      return `${plural(event.packets, "packet")} for the tunnels between hosts, from none of the run's hosts`;
    case "program-ended":
      return `${event.image} ended with status ${event.status}${event.message ? `: ${event.message}` : ""}`;
    case "node-refused":
    case "node-error":
    case "fabric-error":
      return event.message;
    case "events-lost":
      return `${plural(event.count, "event")} of the run: the fabric had no room for them`;
    case "events-left-out":
      return `${plural(event.count, "more event")} of ${event.server == null ? "the run" : name(event.server)}: too many to show`;
    case "protocol":
      return event.cells
        .map(({ name: cell, title, kind, value }) =>
          title ? `${title} ${cellText(network, kind, value)}` : untitledText(network, cell, kind, value),
        )
        .join(", ");
    default:
      return "";
  }
}

/** A value whose catalogue entry has no title, by its name, whose end is its unit. */
export function untitledText(network: Network, cell: string, kind: CellKind, value: unknown): string {
  const words = (name: string) => name.replaceAll("_", " ");
  if (typeof value === "number" && cell.endsWith("_bytes"))
    return `${words(cell.slice(0, -"_bytes".length))} ${formatBytes(value)}`;
  if (typeof value === "number" && cell.endsWith("_micros"))
    return `${words(cell.slice(0, -"_micros".length))} ${formatCount(value)}\u00a0µs`;
  return `${words(cell)} ${cellText(network, kind, value)}`;
}

type FlowEvent = Extract<SessionEvent, { kind: "path-switched" }>;

/**
 * A flow by its ends; the reverse flow of the workload's flow (TCP's acknowledgements) is named as
 * such.
 */
function flowText(
  network: Network,
  { flow, answers, tuple }: Pick<FlowEvent, "flow" | "answers" | "tuple">,
): string {
  const named = (row: number) =>
    `${nodeName(network, network.flowSource[row]!)} → ${nodeName(network, network.flowDestination[row]!)}`;
  if (flow !== undefined) return named(flow);
  if (answers !== undefined) return `return traffic of ${named(answers)}`;
  return tuple ? `${tuple.src} → ${tuple.dst} port ${tuple.dport}` : "";
}
