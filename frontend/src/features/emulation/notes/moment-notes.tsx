/**
 * Next to the picture: the run's notes in order of time, and a form for a new note at the moment
 * that is shown.
 */
import { useCallback, useMemo, useState } from "react";
import { api, take } from "@/api/client";
import { NoteCard } from "@/shared/notes/note-card";
import { NoteForm } from "@/shared/notes/note-form";
import { byMoment, countText, isOpen, momentText, shownNotes } from "@/shared/notes/notes";
import shared from "@/shared/notes/notes.module.css";
import { useNewNote, useNoteOrders, useNotes } from "@/shared/notes/use-notes";
import { type Command, useCommands } from "@/shared/shell/commands";
import { Button } from "@/ui/button";
import styles from "./moment-notes.module.css";

export default function MomentNotes({
  runId,
  moment,
  onMoment,
}: {
  runId: string;
  /** The second that is shown; null before the first measurement. */
  moment: number | null;
  onMoment: (at: number) => void;
}) {
  const [all, setAll] = useState(false);
  const notes = useNotes({ run: runId });
  const orders = useNoteOrders();
  const list = byMoment(notes.data ?? []);
  const resolved = list.length - list.filter(isOpen).length;
  return (
    <section className={styles.notes} aria-label="Notes">
      <p className="muted tight" role="status">
        {notes.isError
          ? notes.error.message
          : notes.isPending
            ? "Loading…"
            : list.length === 0
              ? "No notes yet. Move to a moment of the run to add one."
              : countText(list)}
      </p>
      <NewNote runId={runId} moment={moment} />
      {resolved > 0 && (
        <Button small look="quiet" aria-pressed={all} onClick={() => setAll(!all)}>
          {all ? "Hide resolved" : `Show ${resolved} resolved`}
        </Button>
      )}
      <ul className={shared.list}>
        {shownNotes(list, all).map((note) => (
          <NoteCard
            key={note.id}
            note={note}
            anchor={
              <button
                type="button"
                className={shared.link}
                onClick={() => onMoment(note.anchor.at_secs ?? 0)}
              >
                {momentText(note.anchor.at_secs ?? 0)}
              </button>
            }
            orders={orders}
          />
        ))}
      </ul>
    </section>
  );
}

/** As the clock shows it. */
const tenth = (secs: number): number => Math.round(secs * 10) / 10;

/** The note belongs to the moment at which writing began, even if the run continues. */
function NewNote({ runId, moment }: { runId: string; moment: number | null }) {
  const [at, setAt] = useState<number | null>(null);
  const write = useNewNote((text) =>
    take(
      api.POST("/api/v1/runs/{id}/notes", {
        params: { path: { id: runId } },
        body: { at_secs: at ?? 0, text },
      }),
    ),
  );
  const begin = useCallback(() => setAt(moment === null ? null : tenth(moment)), [moment]);
  const commands = useMemo<Command[]>(
    () => [
      { id: "note", title: "Add a note at this moment", group: "Run", icon: "pin", keys: "n", run: begin },
    ],
    [begin],
  );
  useCommands("note", commands);
  if (at === null)
    return (
      <div className={shared.actions}>
        <Button small icon="plus" disabled={moment === null} onClick={begin}>
          Add note at {moment === null ? "this moment" : momentText(tenth(moment))}
        </Button>
      </div>
    );
  return (
    <NoteForm
      label={`Note at ${momentText(at)}`}
      save="Add note"
      busy={write.isPending}
      onSave={(text) => write.mutate(text, { onSuccess: () => setAt(null) })}
      onCancel={() => setAt(null)}
    />
  );
}
