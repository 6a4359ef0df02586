/**
 * All events, the newest first. Only visible rows are in the document; each is as high as its text
 * requires.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import { Button } from "@/ui/button";
import { Select, TextInput } from "@/ui/form";
import { csvOf } from "@/ui/table-order";
import { formatNumber } from "@/units";
import { saveFile } from "@/units/save-file";
import type { Item } from "../session/network";
import type { Session } from "../session/session";
import styles from "./event-log.module.css";
import { kindWords, type LogEntry, logOf, matching } from "./event-text";

/** Estimated height of a row until it is measured: one line of text. */
const ROW_PX = 40;

export function EventLog({
  session,
  until,
  onSelect,
  fileName,
}: {
  session: Session;
  /** Nothing later than this is shown. */
  until: number;
  onSelect: (item: Item) => void;
  fileName: string;
}) {
  const [kind, setKind] = useState("");
  const [words, setWords] = useState("");
  const all = useMemo(() => logOf(session), [session]);
  const kinds = useMemo(() => [...new Set(all.map((entry) => entry.kind))].sort(), [all]);
  const shown = useMemo(() => matching(all, { kind, words, until }), [all, kind, words, until]);
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
  });
  const open = (entry: LogEntry) => {
    if (entry.flow !== null) onSelect({ kind: "flow", row: entry.flow });
    else if (entry.row !== null) onSelect({ kind: "server", row: entry.row });
  };
  return (
    <section className={styles.log} aria-label="Event log">
      <LogBar
        kinds={kinds}
        kind={kind}
        onKind={setKind}
        words={words}
        onWords={setWords}
        onSave={() => saveFile(csvOfLog(shown), fileName)}
      />
      <div
        ref={scroll}
        className={styles.logScroll}
        role="log"
        aria-live="off"
        aria-label="Events"
        data-testid="events"
        data-count={shown.length}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable by keyboard
        tabIndex={0}
      >
        {shown.length === 0 && (
          <p className={styles.none}>{all.length === 0 ? "No events yet." : "No matching events."}</p>
        )}
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map(({ index, start }) => (
            <div
              key={index}
              ref={virtual.measureElement}
              data-index={index}
              className={styles.place}
              style={{ transform: `translateY(${start}px)` }}
            >
              <LogRow entry={shown[index]!} onOpen={open} />
            </div>
          ))}
        </div>
      </div>
    </section>
  );
}

/** Which events are shown, and saving them. */
function LogBar({
  kinds,
  kind,
  onKind,
  words,
  onWords,
  onSave,
}: {
  kinds: readonly string[];
  kind: string;
  onKind: (kind: string) => void;
  words: string;
  onWords: (words: string) => void;
  onSave: () => void;
}) {
  return (
    <div className={styles.logBar}>
      <Select
        aria-label="Kind of event"
        width={128}
        value={kind}
        options={[
          { value: "", label: "All events" },
          ...kinds.map((kind) => ({ value: kind, label: kindWords(kind) })),
        ]}
        onChange={onKind}
      />
      <TextInput
        className={styles.filter}
        aria-label="Filter events by server or text"
        placeholder="Server or text"
        value={words}
        onChange={(event) => onWords(event.target.value)}
      />
      <Button small onClick={onSave}>
        CSV
      </Button>
    </div>
  );
}

/** One event; with a flow or a server it opens that. */
function LogRow({ entry, onOpen }: { entry: LogEntry; onOpen: (entry: LogEntry) => void }) {
  const opens = entry.flow !== null || entry.row !== null;
  return (
    <div className={styles.entry} data-tone={entry.tone}>
      <span className={styles.entryHead}>
        <span className={styles.entryTime}>{`${formatNumber(entry.at, 2)}\u00a0s`}</span>
        <span className={styles.entryKind}>{kindWords(entry.kind)}</span>
        {entry.server && <span className={styles.entryServer}>{`at ${entry.server}`}</span>}
      </span>
      {opens ? (
        <button type="button" className={styles.entryText} title={entry.text} onClick={() => onOpen(entry)}>
          {entry.text || "open"}
        </button>
      ) : (
        <span className={styles.entryText} title={entry.text}>
          {entry.text}
        </span>
      )}
    </div>
  );
}

const csvOfLog = (entries: readonly LogEntry[]): string =>
  csvOf(
    ["at_secs", "server", "kind", "what"],
    entries.map((entry) => [String(entry.at), entry.server, entry.kind, entry.text]),
  );
