/** Everything that was told, the newest first; only the rows in sight are in the document. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import { Button } from "@/ui/button";
import { saveFile } from "@/ui/clipboard";
import { Select, TextInput } from "@/ui/form";
import { csvOf } from "@/ui/table-order";
import { formatNumber } from "@/units";
import { kindWords, type LogEntry, logOf } from "./event-text";
import type { Item } from "./network";
import type { Session } from "./session";
import side from "./side.module.css";

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
  const shown = useMemo(() => {
    const wanted = words.trim().toLowerCase();
    return all.filter(
      (entry) =>
        entry.at <= until &&
        (kind === "" || entry.kind === kind) &&
        (wanted === "" || `${entry.server} ${entry.text}`.toLowerCase().includes(wanted)),
    );
  }, [all, kind, words, until]);
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
    <section className={side.log} aria-label="Event log">
      <div className={side.logBar}>
        <Select
          aria-label="Kind of event"
          width={128}
          value={kind}
          options={[
            { value: "", label: "Every kind" },
            ...kinds.map((one) => ({ value: one, label: kindWords(one) })),
          ]}
          onChange={setKind}
        />
        <TextInput
          className={side.filter}
          aria-label="Filter events by server or words"
          placeholder="Server or words"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <Button
          small
          onClick={() =>
            saveFile(
              new Blob(
                [
                  csvOf(
                    ["at_secs", "server", "kind", "what"],
                    shown.map((entry) => [String(entry.at), entry.server, entry.kind, entry.text]),
                  ),
                ],
                { type: "text/csv" },
              ),
              fileName,
            )
          }
        >
          CSV
        </Button>
      </div>
      <div
        ref={scroll}
        className={side.logScroll}
        role="log"
        aria-live="off"
        aria-label="Events"
        data-testid="events"
        data-count={shown.length}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable by keyboard
        tabIndex={0}
      >
        {shown.length === 0 && (
          <p className={side.none}>{all.length === 0 ? "Nothing was told yet." : "No event is like that."}</p>
        )}
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const entry = shown[index]!;
            const opens = entry.flow !== null || entry.row !== null;
            return (
              <div
                key={index}
                className={side.entry}
                data-tone={entry.tone}
                style={{ transform: `translateY(${start}px)` }}
              >
                <span className={side.entryHead}>
                  <span className={side.entryTime}>{`${formatNumber(entry.at, 2)}\u00a0s`}</span>
                  <span className={side.entryKind}>{kindWords(entry.kind)}</span>
                  {entry.server && <span className={side.entryServer}>{`at ${entry.server}`}</span>}
                </span>
                {opens ? (
                  <button
                    type="button"
                    className={side.entryText}
                    title={entry.text}
                    onClick={() => open(entry)}
                  >
                    {entry.text || "open"}
                  </button>
                ) : (
                  <span className={side.entryText} title={entry.text}>
                    {entry.text}
                  </span>
                )}
              </div>
            );
          })}
        </div>
      </div>
    </section>
  );
}
