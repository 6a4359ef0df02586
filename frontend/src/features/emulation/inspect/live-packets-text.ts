/**
 * The state of a stream of packets, from its events, and the commands that open it in Wireshark.
 */
import type { ServerEvent } from "@/api/events";
import type { components } from "@/api/schema";

type News = components["schemas"]["PacketNews"];
type End = components["schemas"]["PacketsEnd"];
export type SeenPacket = News["items"][number];
export type Target = { link: string } | { server: string; port: number };

/** Packets that stay on the page. */
export const MAX_SHOWN = 200;

export interface Match {
  /** Empty for packets of every kind. */
  protocol: string;
  host: string;
  port: string;
}

export interface Stream {
  packets: number;
  bytes: number;
  /** The packets, the latest last. */
  items: readonly (SeenPacket & { number: number })[];
  /** Why it ended; null while packets flow. */
  end: string | null;
  missed: number;
}

export const NOTHING: Stream = { packets: 0, bytes: 0, items: [], end: null, missed: 0 };

/** A stream with one event more. */
export function withEvent(stream: Stream, event: ServerEvent): Stream {
  if (event.event === "end") {
    const data: End = JSON.parse(event.data);
    return { ...stream, packets: data.packets, end: data.reason, missed: data.missed };
  }
  if (event.event !== "packets") return stream;
  const data: News = JSON.parse(event.data);
  // If there are many packets, only the last ones are sent; they are the last of the count.
  const first = data.packets - data.items.length + 1;
  const items = data.items.map((item, i) => ({ ...item, number: first + i }));
  return {
    ...stream,
    packets: data.packets,
    bytes: data.size_bytes,
    items: [...stream.items, ...items].slice(-MAX_SHOWN),
  };
}

/** The query of a stream. */
export function queryOf(target: Target, match: Match): string {
  const query = new URLSearchParams(
    "link" in target ? { link: target.link } : { server: target.server, port: String(target.port) },
  );
  if (match.protocol) query.set("match_protocol", match.protocol);
  if (match.host.trim()) query.set("match_host", match.host.trim());
  if (match.port.trim()) query.set("match_port", match.port.trim());
  return query.toString();
}

/** A word of a POSIX shell's command. */
const word = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;

/** The command for the machine that Cubeyard runs on. */
export function commandOf(run: string, target: Target, match: Match): string {
  const where =
    "link" in target ? `--link ${word(target.link)}` : `--port ${word(`${target.server}:${target.port}`)}`;
  const wanted = Object.entries({
    protocol: match.protocol,
    host: match.host.trim(),
    port: match.port.trim(),
  })
    .filter(([, value]) => value)
    .map(([name, value]) => ` --match-${name} ${word(value)}`)
    .join("");
  return `bin/cubeyard capture ${run} ${where}${wanted} -w - | wireshark -k -i -`;
}

/**
 * The command for any machine that can reach this server; requests from other machines need a
 * token.
 */
export function curlOf(
  run: string,
  target: Target,
  match: Match,
  at: Pick<Location, "origin" | "hostname">,
): string {
  const url = `${at.origin}/api/v1/runs/${run}/packets.pcapng?${queryOf(target, match)}`;
  const own = ["localhost", "127.0.0.1", "[::1]"].includes(at.hostname);
  const token = own ? "" : ' -H "Authorization: Bearer $CUBEYARD_TOKEN"';
  return `curl -sN${token} ${word(url)} | wireshark -k -i -`;
}
