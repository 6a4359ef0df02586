/**
 * The messages to a service and its answers, from the events of the run: the same live and in the
 * replay.
 */
import type { SessionEvent } from "../session/frames";
import { type Network, nodeName } from "../session/network";

/** Whether anybody has talked to a service at all. */
export const hasTalk = (events: readonly SessionEvent[]): boolean =>
  events.some((event) => event.kind === "protocol" && event.name in KINDS);

export interface Message {
  at: number;
  /** Row of the server that got the message or answers; null for one that is not in the network. */
  server: number | null;
  name: string;
  text: string;
  kind: "message" | "answer";
}

const KINDS: Record<string, Message["kind"]> = { "service-message": "message", "service-answer": "answer" };
/** A form shows at most this many; the event log has them all. */
const MOST = 100;

/**
 * The messages until a time, the newest first. A long text arrives in parts, one event each, which
 * are joined.
 */
export function talkOf(
  network: Network,
  events: readonly SessionEvent[],
  service: string,
  until: number,
): Message[] {
  const messages: Message[] = [];
  const begun = new Map<string, string>();
  for (const event of events) {
    const kind = event.kind === "protocol" ? KINDS[event.name] : undefined;
    if (event.kind !== "protocol" || !kind || event.at_secs > until) continue;
    const cell = (name: string): unknown => event.cells.find((cell) => cell.name === name)?.value;
    if (cell("service") !== service) continue;
    const part = `${kind} ${event.server}`;
    const text = (begun.get(part) ?? "") + String(cell(kind) ?? "");
    begun.delete(part);
    if (cell("parts_left")) begun.set(part, text);
    else {
      const server = event.server == null ? null : (network.serverRow.get(event.server) ?? null);
      messages.push({
        at: event.at_secs,
        server,
        name: server === null ? "" : nodeName(network, server),
        text: text + restOf(text, cell("bytes")),
        kind,
      });
    }
  }
  // Events of several servers come in the order of ticks; within one, by server.
  return messages
    .reverse()
    .sort((a, b) => b.at - a.at)
    .slice(0, MOST);
}

/** The event log has the beginning of a long message only. */
const restOf = (text: string, bytes: unknown): string =>
  typeof bytes === "number" && bytes > new TextEncoder().encode(text).length ? "…" : "";
