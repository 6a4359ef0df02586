import { useState } from "react";
import { Button } from "@/ui/button";
import { textAreaClass } from "@/ui/form";
import { MAX_TEXT } from "./notes";
import styles from "./notes.module.css";

/** The text of a note. Ctrl Enter saves it, Escape gives it up. */
export function NoteForm({
  label,
  text: initial = "",
  save,
  busy,
  onSave,
  onCancel,
}: {
  /** The name of the form, like `Note on R03`. */
  label: string;
  text?: string;
  /** The label of the button. */
  save: string;
  busy: boolean;
  onSave: (text: string) => void;
  onCancel: () => void;
}) {
  const [text, setText] = useState(initial);
  const ready = text.trim() !== "" && text.trim() !== initial && !busy;
  const left = MAX_TEXT - text.length;
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) onSave(text.trim());
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.stopPropagation();
          onCancel();
        }
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          if (ready) onSave(text.trim());
        }
      }}
    >
      <textarea
        className={textAreaClass}
        aria-label={label}
        placeholder={label}
        rows={3}
        maxLength={MAX_TEXT}
        // biome-ignore lint/a11y/noAutofocus: the form was just asked for
        autoFocus
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div className={styles.actions}>
        <Button small look="primary" type="submit" disabled={!ready}>
          {save}
        </Button>
        <Button small look="quiet" onClick={onCancel}>
          Cancel
        </Button>
        {left < 200 && <span className="muted tight">{left} characters left</span>}
      </div>
    </form>
  );
}
