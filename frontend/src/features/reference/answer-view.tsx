import { Button } from "@/ui/button";
import { formatBytes, formatCount } from "@/units";
import { saveFile } from "@/units/save-file";
import styles from "./reference-page.module.css";
import type { Answer } from "./use-send";

/** As much of an answer as a person reads; the rest is in the file. */
const SHOWN_CHARACTERS = 20_000;

/** The response: status, time, size, and its body if it is text. */
export function AnswerView({ answer, fileName }: { answer: Answer; fileName: string }) {
  return (
    <section aria-label="Response" aria-live="polite">
      <div className={styles.tryBar}>
        <strong data-ok={answer.status < 400}>
          {answer.status} {answer.statusText}
        </strong>
        <span className="muted">
          {formatCount(answer.ms)} ms · {formatBytes(answer.bytes)} · {answer.type.split(";")[0]}
        </span>
        <Button small icon="export" onClick={() => saveFile(answer.blob, fileName)}>
          Save
        </Button>
      </div>
      {answer.text !== null && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long answer scrolls
        <pre className={styles.code} tabIndex={0}>
          {answer.text.slice(0, SHOWN_CHARACTERS)}
          {answer.text.length > SHOWN_CHARACTERS && "\n… truncated. Save the response to see all of it."}
        </pre>
      )}
    </section>
  );
}
