import { type ReactNode, useState } from "react";
import type { Note } from "@/api/types";
import { IconButton } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { formatDate } from "@/units";
import { NoteForm } from "./note-form";
import { anchorText, endsText, isOpen } from "./notes";
import styles from "./notes.module.css";
import type { NoteOrders } from "./use-notes";

/** One note: its anchor, its text, its author and time, and its actions. */
export function NoteCard({
  note,
  anchor,
  gone,
  orders,
}: {
  note: Note;
  /** The anchor as a link of the page; omitted if the page shows only this anchor. */
  anchor?: ReactNode;
  /** Why the anchor cannot be shown, like “not in this revision”. */
  gone?: string;
  /** Left out for notes that cannot be changed here. */
  orders?: NoteOrders;
}) {
  const [editing, setEditing] = useState(false);
  const where = anchorText(note);
  const ends = endsText(note);
  return (
    <li className={styles.note} data-resolved={!isOpen(note) || undefined} data-testid="note">
      <div className={styles.head}>
        <Icon name="pin" size={14} />
        <span className={styles.anchor} title={ends ?? undefined}>
          {anchor ?? where}
        </span>
        {gone && <span className={styles.gone}>{gone}</span>}
        {!isOpen(note) && <span className={styles.done}>Resolved</span>}
      </div>
      {editing && orders ? (
        <NoteForm
          label={`Note on ${where}`}
          text={note.text}
          save="Save"
          busy={orders.change.isPending}
          onSave={(text) =>
            orders.change.mutate(
              { id: note.id, text, base_version: note.version },
              { onSuccess: () => setEditing(false) },
            )
          }
          onCancel={() => setEditing(false)}
        />
      ) : (
        <p className={styles.text}>{note.text}</p>
      )}
      <div className={styles.foot}>
        <Signature note={note} />
        {orders && !editing && <Controls note={note} orders={orders} onEdit={() => setEditing(true)} />}
      </div>
    </li>
  );
}

/** Who wrote, edited and resolved it, and when. */
function Signature({ note }: { note: Note }) {
  const lines = [
    `${note.by}, ${formatDate(note.at)}${note.revision === null ? "" : `, r${note.revision}`}`,
    ...(note.edited_at ? [`Edited by ${note.edited_by}, ${formatDate(note.edited_at)}`] : []),
    ...(note.resolved_at ? [`Resolved by ${note.resolved_by}, ${formatDate(note.resolved_at)}`] : []),
  ];
  return (
    <span className="muted tight">
      {lines.map((line) => (
        <span key={line} className={styles.line}>
          {line}
        </span>
      ))}
    </span>
  );
}

function Controls({ note, orders, onEdit }: { note: Note; orders: NoteOrders; onEdit: () => void }) {
  const busy = orders.change.isPending || orders.remove.isPending;
  const where = anchorText(note);
  return (
    <span className={styles.controls}>
      <IconButton
        small
        icon={isOpen(note) ? "check" : "undo"}
        label={`${isOpen(note) ? "Resolve" : "Reopen"} the note on ${where}`}
        disabled={busy}
        onClick={() => orders.change.mutate({ id: note.id, resolved: isOpen(note) })}
      />
      <IconButton small icon="edit" label={`Edit the note on ${where}`} disabled={busy} onClick={onEdit} />
      <IconButton
        small
        icon="trash"
        label={`Delete the note on ${where}`}
        disabled={busy}
        onClick={() => {
          if (window.confirm(`Delete the note on ${where}? This cannot be undone.`))
            orders.remove.mutate(note.id);
        }}
      />
    </span>
  );
}
