/**
 * Server-sent events over `fetch`: unlike EventSource it sends the token, reports why it failed,
 * and starts at the position that the caller gives.
 */
import { call, errorOf, requestTo } from "./client";

export interface ServerEvent {
  /** The frame's number as text; null for an event that is not stored. */
  id: string | null;
  event: string;
  data: string;
}

/** Text in pieces to events, as they become whole. [WHATWG HTML §9.2.6] */
export class EventParser {
  private rest = "";
  private id: string | null = null;
  private name = "";
  private data: string[] = [];

  feed(text: string): ServerEvent[] {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.line(line));
  }

  private line(line: string): ServerEvent[] {
    if (line === "") {
      const { id, name, data } = this;
      [this.id, this.name, this.data] = [null, "", []];
      return data.length === 0 ? [] : [{ id, event: name || "message", data: data.join("\n") }];
    }
    const colon = line.indexOf(":");
    if (colon === 0) return [];
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") this.id = value;
    else if (field === "event") this.name = value;
    else if (field === "data") this.data.push(value);
    return [];
  }
}

/**
 * A live server sends something at least this often; a longer silence means that the connection is
 * dead.
 */
const SILENCE_MS = 40_000;

/**
 * The events of a stream after `lastId`, in the pieces they arrive in (an empty piece is a sign of
 * life), until the server ends it; with a `body` of a POST whose answer is the stream. Throws
 * `ApiError` for the server's own refusal, `UnreachableError` when it is away or falls silent.
 */
export async function* readEvents(
  path: string,
  lastId: number,
  signal: AbortSignal,
  body?: unknown,
): AsyncGenerator<ServerEvent[], "over" | "ended"> {
  const silence = new AbortController();
  const request = requestTo(path, {
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    headers: {
      Accept: "text/event-stream",
      ...(body === undefined ? { "Last-Event-ID": String(lastId) } : { "Content-Type": "application/json" }),
    },
    cache: "no-store",
    signal: AbortSignal.any([signal, silence.signal]),
  });
  const response = await call(request);
  // Everything was received and nothing will come: there is no need to ask again.
  if (response.status === 204) return "over";
  if (!response.ok || !response.body) throw errorOf(await response.json().catch(() => null), response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new EventParser();
  try {
    for (;;) {
      const timer = setTimeout(() => silence.abort(), SILENCE_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return "ended";
      yield parser.feed(value);
    }
  } finally {
    silence.abort();
  }
}
