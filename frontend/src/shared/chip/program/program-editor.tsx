import { useRef } from "react";
import type { Finding } from "@/api/types";
import { cx } from "@/ui/cx";
import { textAreaClass } from "@/ui/form";
import { lineRange } from "./lines";
import styles from "./program.module.css";

/** The program's text, its lines numbered, with the mistakes that the server named. */
export function ProgramEditor({
  id,
  program,
  findings,
  onProgram,
}: {
  id: string;
  program: string;
  findings: readonly Finding[];
  onProgram: (program: string) => void;
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const wrong = new Set(findings.map((finding) => finding.line));
  const lines = program.split("\n").length;
  const show = (line: number) => {
    const text = area.current;
    if (!text) return;
    text.focus();
    text.setSelectionRange(...lineRange(program, line));
    text.scrollTop = (line - 4) * (text.scrollHeight / lines);
  };
  return (
    <>
      <div className={styles.editor}>
        <div ref={gutter} className={styles.gutter} aria-hidden="true">
          {Array.from({ length: lines }, (_, index) => index + 1).map((line) => (
            <span key={line} data-wrong={wrong.has(line) || undefined}>
              {line}
            </span>
          ))}
        </div>
        <textarea
          ref={area}
          id={id}
          className={cx(textAreaClass, styles.text)}
          wrap="off"
          spellCheck={false}
          autoComplete="off"
          value={program}
          aria-invalid={findings.length > 0 || undefined}
          aria-describedby={findings.length > 0 ? `${id}-wrong` : undefined}
          onScroll={(event) => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
          }}
          onChange={(event) => onProgram(event.target.value)}
        />
      </div>
      {findings.length > 0 && (
        <ul id={`${id}-wrong`} className={styles.wrong} aria-label="Mistakes">
          {findings.map((finding) => (
            <li key={`${finding.line} ${finding.column} ${finding.code} ${finding.where}`}>
              {finding.line ? (
                <button type="button" onClick={() => show(finding.line ?? 0)}>
                  Line {finding.line}, column {finding.column}
                </button>
              ) : (
                <code>{finding.where}</code>
              )}{" "}
              {finding.message} <span>{finding.hint}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
