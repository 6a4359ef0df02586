import { useState } from "react";
import { Button } from "@/ui/button";
import { textAreaClass } from "@/ui/form";
import styles from "./crew.module.css";

const USUAL = ["Port taken", "Too short", "Damaged", "Wrong label"];
const MAX_CHARACTERS = 500;

/** Reports a problem with a cable: a common reason by one tap, or a note. */
export function ProblemForm({
  note,
  onSave,
  onCancel,
}: {
  note: string;
  onSave: (note: string) => void;
  onCancel: () => void;
}) {
  const [text, setText] = useState(note);
  return (
    <form
      className={styles.noteForm}
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) onSave(text.trim());
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onCancel();
      }}
    >
      <div className={styles.usual}>
        {USUAL.map((reason) => (
          <Button key={reason} onClick={() => setText(reason)}>
            {reason}
          </Button>
        ))}
      </div>
      <textarea
        className={textAreaClass}
        aria-label="Problem"
        placeholder="What is wrong?"
        rows={2}
        maxLength={MAX_CHARACTERS}
        // biome-ignore lint/a11y/noAutofocus: the form was just asked for
        autoFocus
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div className={styles.tools}>
        <Button className={styles.big} onClick={onCancel}>
          Cancel
        </Button>
        <Button className={styles.big} type="submit" look="primary" disabled={text.trim() === ""}>
          Save problem
        </Button>
      </div>
    </form>
  );
}
