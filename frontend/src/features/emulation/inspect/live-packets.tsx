/**
 * Packets of a link or a port as they flow: counted, the last ones in words, and the command that
 * gives them to Wireshark.
 */
import { useParams } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { readEvents } from "@/api/events";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/clipboard";
import { ColumnHeads } from "@/ui/column-heads";
import { Field, Select, TextInput } from "@/ui/form";
import { formatBytes, formatCount, plural } from "@/units";
import styles from "./live-packets.module.css";
import {
  commandOf,
  curlOf,
  type Match,
  NOTHING,
  queryOf,
  type SeenPacket,
  type Stream,
  type Target,
  withEvent,
} from "./live-packets-text";

const PROTOCOLS = [
  { value: "", label: "All packets" },
  { value: "tcp", label: "TCP" },
  { value: "udp", label: "UDP" },
  { value: "icmp", label: "ICMP (ping)" },
  { value: "arp", label: "ARP" },
  { value: "control", label: "Control messages between neighbours" },
  { value: "service", label: "Packets of services" },
];
const EVERYTHING: Match = { protocol: "", host: "", port: "" };

/** A stream while it is open; `query` null for none. A new query begins again at nothing. */
function useStream(run: string | undefined, query: string | null): [Stream, string | null] {
  const [state, setState] = useState<{ stream: Stream; error: string | null }>({
    stream: NOTHING,
    error: null,
  });
  useEffect(() => {
    if (run === undefined || query === null) return;
    setState({ stream: NOTHING, error: null });
    const leaving = new AbortController();
    (async () => {
      for await (const events of readEvents(`/api/v1/runs/${run}/packets?${query}`, 0, leaving.signal))
        if (events.length > 0)
          setState(({ stream, error }) => ({ stream: events.reduce(withEvent, stream), error }));
    })().catch((error: unknown) => {
      if (!leaving.signal.aborted)
        setState(({ stream }) => ({ stream, error: error instanceof Error ? error.message : String(error) }));
    });
    return () => leaving.abort();
  }, [run, query]);
  return [state.stream, state.error];
}

export default function LivePackets({
  target,
  name,
  onClose,
}: {
  target: Target;
  name: string;
  onClose: () => void;
}) {
  const { id } = useParams({ strict: false });
  const [match, setMatch] = useState(EVERYTHING);
  const [draft, setDraft] = useState(EVERYTHING);
  const [open, setOpen] = useState(true);
  const [stream, error] = useStream(id, open ? queryOf(target, match) : null);
  const flowing = open && stream.end === null && error === null;
  const change = (some: Partial<Match>) => setDraft({ ...draft, ...some });
  const run = id ?? "";
  return (
    <section className={styles.live} aria-label={`Live packets of ${name}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setMatch(draft);
          setOpen(true);
        }}
      >
        <Field label="Show">
          {({ id: field }) => (
            <Select
              id={field}
              value={draft.protocol}
              options={PROTOCOLS}
              onChange={(protocol) => {
                change({ protocol });
                setMatch({ ...match, protocol });
              }}
            />
          )}
        </Field>
        <Field label="From or to" title="A server's name, or an IPv4 address">
          {({ id: field }) => (
            <TextInput
              id={field}
              value={draft.host}
              placeholder="any server"
              maxLength={64}
              onChange={(event) => change({ host: event.target.value })}
            />
          )}
        </Field>
        <Field label="TCP or UDP port">
          {({ id: field }) => (
            <TextInput
              id={field}
              value={draft.port}
              placeholder="any"
              inputMode="numeric"
              pattern="[0-9]{1,5}"
              title="A number from 0 to 65535"
              onChange={(event) => change({ port: event.target.value })}
            />
          )}
        </Field>
        <div className={styles.row}>
          <Button small type="submit">
            {open ? "Apply filter" : "Watch again"}
          </Button>
          {flowing ? (
            <Button small onClick={() => setOpen(false)}>
              Stop
            </Button>
          ) : (
            <Button small icon="close" onClick={onClose}>
              Close
            </Button>
          )}
        </div>
      </form>
      <p className={styles.count} data-testid="packet-count">
        <strong>{formatCount(stream.packets)}</strong> {plural(stream.packets, "packet").replace(/^\S+ /, "")}
        , {formatBytes(stream.bytes)}
        {stream.missed > 0 && `, ${plural(stream.missed, "packet")} missed`}
      </p>
      <p role="status" className="muted plain">
        {error ?? stream.end ?? (flowing ? "Packets are shown as they flow." : "Stopped.")}
      </p>
      <PacketList stream={stream} name={name} />
      <Command title="On the machine that runs Cubeyard" text={commandOf(run, target, match)} />
      <Command title="From another machine" text={curlOf(run, target, match, location)} />
    </section>
  );
}

/** The latest packets, which stays at its end unless somebody reads further up. */
function PacketList({ stream, name }: { stream: Stream; name: string }) {
  const list = useRef<HTMLElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    const element = list.current;
    if (element && follows.current && stream.items.length > 0) element.scrollTop = element.scrollHeight;
  }, [stream.items]);
  return (
    <section
      ref={list}
      className={styles.list}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys.
      tabIndex={0}
      aria-label={`Latest packets of ${name}`}
      onScroll={({ currentTarget: element }) => {
        follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < 24;
      }}
    >
      <table>
        <ColumnHeads columns={["No.", "Time", "From → to", "Packet"]} />
        <tbody>
          {stream.items.map((packet) => (
            <tr key={packet.number}>
              <td className={styles.number}>{packet.number}</td>
              <td className={styles.number}>{packet.at_secs.toFixed(3)} s</td>
              <td>
                {packet.source || packet.destination ? `${packet.source} → ${packet.destination}` : "–"}
              </td>
              <td>
                {packet.text}, {formatBytes(packet.size_bytes)} on the link
                <HeaderFields fields={packet.header} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The header that servers relay by, field by field. */
function HeaderFields({ fields }: { fields: SeenPacket["header"] }) {
  if (fields.length === 0) return null;
  return (
    <ul className={styles.header} aria-label="Header of the relaying servers">
      {fields.map(({ name, title, value, unit, description }) => (
        <li key={name} title={description}>
          <span className="muted plain">{title}</span> {value}
          {unit && ` ${unit}`}
        </li>
      ))}
    </ul>
  );
}

function Command({ title, text }: { title: string; text: string }) {
  return (
    <div className={styles.command}>
      <span className="muted plain">{title}:</span>
      <div>
        <code>{text}</code>
        <CopyButton text={text} aria-label={`Copy the command: ${title}`}>
          Copy
        </CopyButton>
      </div>
    </div>
  );
}
