import { useState } from "react";
import { canonical } from "@/shared/plans/spec";
import { curlOf } from "@/shared/server/curl";
import { CopyButton } from "@/ui/clipboard";
import { textAreaClass } from "@/ui/form";
import { type Draft, readDraft } from "./draft";
import styles from "./experiments.module.css";

/** The request's body itself, to read, to edit and to take elsewhere. */
export function JsonView({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const written = JSON.stringify(draft, null, 2);
  const [typed, setTyped] = useState<string | null>(null);
  const problem = typed === null ? null : problemOf(typed);
  const take = (text: string) => {
    setTyped(text);
    if (problemOf(text) !== null) return;
    const next = readDraft(JSON.parse(text))!;
    if (canonical(next) !== canonical(draft)) onChange(next);
  };
  const request = { title: "", method: "POST", path: "/api/v1/experiments", body: draft } as const;
  return (
    <section className={styles.json} aria-label="JSON">
      <div className={styles.bar}>
        <span className="muted tight">
          The body of <code>POST /api/v1/experiments</code>. Edits here update the form.
        </span>
        <span className={styles.space} />
        <CopyButton text={written}>Copy JSON</CopyButton>
        <CopyButton icon="terminal" text={() => curlOf(request, location.origin)}>
          Copy as curl
        </CopyButton>
      </div>
      <textarea
        className={textAreaClass}
        aria-label="The experiment as JSON"
        aria-invalid={problem !== null || undefined}
        aria-describedby="json-problem"
        spellCheck={false}
        value={typed ?? written}
        onChange={(event) => take(event.target.value)}
        onBlur={() => problem === null && setTyped(null)}
      />
      <p id="json-problem" className={styles.message} role="status">
        {problem}
      </p>
    </section>
  );
}

function problemOf(text: string): string | null {
  try {
    return readDraft(JSON.parse(text))
      ? null
      : "An experiment needs a plan: an object with an id or a topology.";
  } catch (error) {
    return `Not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}
