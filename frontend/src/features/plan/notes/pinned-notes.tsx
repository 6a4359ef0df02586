/**
 * In the inspector: the notes on the selected rack, device or cable, and a form for a new note on
 * it.
 */
import { useCallback, useMemo, useState } from "react";
import type { Note } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import type { Selection } from "@/scene/selection";
import { NoteCard } from "@/shared/notes/note-card";
import { NoteForm } from "@/shared/notes/note-form";
import { countText, isOpen } from "@/shared/notes/notes";
import styles from "@/shared/notes/notes.module.css";
import { type Place, pinToPlan, useNewNote, useNoteOrders, useNotes } from "@/shared/notes/use-notes";
import { type Command, useCommands } from "@/shared/shell/commands";
import { Button } from "@/ui/button";
import { isDirty, type Saved, usePlan } from "../state/store";
import { notesOn, placeOf } from "./places";

export default function PinnedNotes({ model, selection }: { model: PlanModel; selection: Selection }) {
  const saved = usePlan((state) => state.saved);
  const place = placeOf(model, selection);
  if (!place) return null;
  if (!saved) return <p className="muted tight">Save the plan to add notes to {place.name}.</p>;
  return <Pinned key={`${place.kind} ${place.name}`} model={model} saved={saved} place={place} />;
}

function Pinned({ model, saved, place }: { model: PlanModel; saved: Saved; place: Place }) {
  const notes = useNotes({ plan: saved.id, revision: saved.revision });
  const orders = useNoteOrders();
  const here = useMemo(() => notesOn(model, notes.data ?? [], place), [model, notes.data, place]);
  return (
    <section className={styles.pinned} aria-label={`Notes on ${place.name}`}>
      {here.length > 0 && (
        <>
          <h3 className="muted tight">{countText(here)}</h3>
          <ul className={styles.list}>
            {here.map((note) => (
              <NoteCard key={note.id} note={note} anchor={nameOf(note, place)} orders={orders} />
            ))}
          </ul>
        </>
      )}
      {notes.isError && <p className="muted tight">{notes.error.message}</p>}
      <NewNote saved={saved} place={place} />
      <output className="visually-hidden" aria-live="polite">
        {here.some(isOpen) ? `${countText(here)} on ${place.name}` : ""}
      </output>
    </section>
  );
}

/** For a cable whose number has changed since the note was written, shows the old number. */
const nameOf = ({ anchor }: Note, { name }: Place): string =>
  anchor.name === name ? name : `${name} (was ${anchor.name})`;

/**
 * A note is pinned to the saved revision: if unsaved edits are on screen, the server reports items
 * that the revision does not have.
 */
function NewNote({ saved, place }: { saved: Saved; place: Place }) {
  const [open, setOpen] = useState(false);
  const dirty = usePlan(isDirty);
  const write = useNewNote((text) => pinToPlan(saved.id, saved.revision, place, text));
  const begin = useCallback(() => setOpen(true), []);
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "note",
        title: `Add a note to ${place.name}`,
        group: "Edit",
        icon: "pin",
        keys: "n",
        run: begin,
      },
    ],
    [begin, place.name],
  );
  useCommands("note", commands);
  if (!open)
    return (
      <div className={styles.actions}>
        <Button small icon="plus" onClick={begin}>
          Add note
        </Button>
      </div>
    );
  return (
    <>
      <NoteForm
        label={`Note on ${place.name}`}
        save="Add note"
        busy={write.isPending}
        onSave={(text) => write.mutate(text, { onSuccess: () => setOpen(false) })}
        onCancel={() => setOpen(false)}
      />
      {dirty && <p className="muted tight">It is pinned to saved revision {saved.revision}.</p>}
    </>
  );
}
