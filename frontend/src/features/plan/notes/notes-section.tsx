/** Next to the plan: all its notes, each with a link to its anchor. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { Note } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import type { Selection } from "@/scene/selection";
import { NoteCard } from "@/shared/notes/note-card";
import { anchorText, countText, isOpen, momentText, shownNotes } from "@/shared/notes/notes";
import styles from "@/shared/notes/notes.module.css";
import {
  type NoteOrders,
  type Place,
  pinToPlan,
  useNewNote,
  useNoteOrders,
  useNotes,
} from "@/shared/notes/use-notes";
import { Button } from "@/ui/button";
import { cx } from "@/ui/cx";
import { Section } from "@/ui/form";
import { toast } from "@/ui/toast";
import { type Saved, usePlan } from "../state/store";
import { usePlanSearch } from "../state/use-plan-view";
import { unpackNotes } from "./link-notes";
import { placeOf, selectionOf } from "./places";

interface Props {
  model: PlanModel;
  select: (selection: Selection) => void;
}

export default function NotesSection(props: Props) {
  const saved = usePlan((state) => state.saved);
  const [search] = usePlanSearch();
  return (
    <>
      {search.notes !== undefined && <LinkNotes {...props} code={search.notes} saved={saved} />}
      {saved && <PlanNotes {...props} saved={saved} />}
    </>
  );
}

function PlanNotes({ model, select, saved }: Props & { saved: Saved }) {
  const [all, setAll] = useState(false);
  const notes = useNotes({ plan: saved.id, revision: saved.revision });
  const orders = useNoteOrders();
  const list = notes.data ?? [];
  const shown = shownNotes(list, all);
  const resolved = list.length - list.filter(isOpen).length;
  return (
    <Section
      title="Notes"
      aside={
        resolved > 0 && (
          <Button small look="quiet" aria-pressed={all} onClick={() => setAll(!all)}>
            {all ? "Hide resolved" : `Show ${resolved} resolved`}
          </Button>
        )
      }
    >
      <p className="muted tight" role="status">
        {notes.isError
          ? notes.error.message
          : notes.isPending
            ? "Loading…"
            : list.length === 0
              ? "No notes yet. Select a rack, a device or a cable to add one."
              : countText(list)}
      </p>
      <NoteList notes={shown} model={model} select={select} orders={orders} />
    </Section>
  );
}

/** A link to a note's anchor; undefined if the anchor does not exist any more. */
function anchorOf(
  model: PlanModel,
  note: Note,
  at: Selection,
  select: (selection: Selection) => void,
): ReactNode | undefined {
  const { kind, run, at_secs } = note.anchor;
  if (kind === "moment")
    return note.here === null ? undefined : (
      <Link to="/runs/$id" params={{ id: run! }} search={{ mode: "replay", at: at_secs ?? 0 }}>
        {momentText(at_secs ?? 0)} of a run
      </Link>
    );
  if (!at) return undefined;
  const now = placeOf(model, at)!.name;
  const was = note.anchor.name === now ? "" : ` (was ${note.anchor.name})`;
  return (
    <button type="button" className={cx("text-button", styles.link)} onClick={() => select(at)}>
      {now}
      {was}
    </button>
  );
}

function goneText(note: Note, at: Selection): string | undefined {
  if (note.anchor.kind === "moment") return note.here === null ? "run deleted" : undefined;
  return at ? undefined : "not in this revision";
}

function NoteList({ notes, model, select, orders }: Props & { notes: readonly Note[]; orders?: NoteOrders }) {
  if (notes.length === 0) return null;
  return (
    <ul className={styles.list}>
      {notes.map((note) => {
        const at = selectionOf(model, note);
        return (
          <NoteCard
            key={note.id}
            note={note}
            anchor={anchorOf(model, note, at, select)}
            gone={goneText(note, at)}
            orders={orders}
          />
        );
      })}
    </ul>
  );
}

/** Copies that came with a link, to be read, or to be kept with the plan once it is saved. */
function LinkNotes({ model, select, code, saved }: Props & { code: string; saved: Saved | null }) {
  const [, setSearch] = usePlanSearch();
  const read = useQuery({ queryKey: ["link-notes", code], queryFn: () => unpackNotes(code), retry: false });
  const list = read.data ?? [];
  const keep = useNewNote(async () => {
    let last: Note | undefined;
    for (const note of list) {
      const place = placeOf(model, selectionOf(model, note));
      if (place) last = await pinToPlan(saved!.id, saved!.revision, place as Place, signed(note));
    }
    if (!last) throw new Error("None of these notes is pinned to an item of this plan.");
    return last;
  });
  return (
    <Section
      title="Notes in this link"
      aside={
        <Button small look="quiet" onClick={() => setSearch({ notes: undefined })}>
          Close
        </Button>
      }
    >
      <p className="muted tight" role="status">
        {read.isError ? read.error.message : "Copies, made together with the link. They are not saved here."}
      </p>
      <NoteList notes={list} model={model} select={select} />
      {saved && list.length > 0 && (
        <div className={styles.actions}>
          <Button
            small
            disabled={keep.isPending}
            onClick={() =>
              keep.mutate("", {
                onSuccess: () => {
                  setSearch({ notes: undefined });
                  toast("The notes of the link are stored with this plan");
                },
              })
            }
          >
            Keep with this plan
          </Button>
        </div>
      )}
    </Section>
  );
}

/** A copied note belongs to the user who saved it, and names its original author. */
function signed(note: Note): string {
  const text = `${note.text}\n(${note.by}, ${note.at.slice(0, 10)}, on ${anchorText(note)})`;
  return text.length > 2000 ? note.text : text;
}
