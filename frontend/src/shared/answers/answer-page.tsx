/** A page with a form on the left and its streamed answer on the right. */
import { type ReactNode, useState } from "react";
import type { Finding } from "@/api/types";
import { ProblemView } from "@/shared/server/problem";
import { Shell } from "@/shared/shell/shell";
import { Button } from "@/ui/button";
import { Skeleton } from "@/ui/marks";
import { UnreadableInputs } from "@/ui/unreadable";
import { useTitle } from "@/ui/use-title";
import styles from "./answer-page.module.css";
import type { Answering } from "./answer-stream";

export function AnswerPage({
  name,
  title = name,
  lead,
  problem,
  onRetry,
  children,
}: {
  name: string;
  title?: string;
  lead: ReactNode;
  problem: unknown;
  onRetry: () => void;
  /** The form and the answer; nothing while the data of the form loads. */
  children: ReactNode;
}) {
  useTitle(name);
  return (
    <Shell>
      <div className={styles.page}>
        <h1>{title}</h1>
        <p className={styles.lead}>{lead}</p>
        {problem ? (
          <ProblemView error={problem} onRetry={onRetry} />
        ) : children ? (
          <div className={styles.columns}>{children}</div>
        ) : (
          <Skeleton height={320} />
        )}
      </div>
    </Shell>
  );
}

export function AnswerForm({
  action,
  running,
  onStart,
  onCancel,
  children,
}: {
  /** The label of the button that starts. */
  action: string;
  running: boolean;
  onStart: () => void;
  onCancel: () => void;
  children: ReactNode;
}) {
  const [unreadable, setUnreadable] = useState(0);
  return (
    <form
      className={styles.form}
      aria-label="Question"
      onSubmit={(event) => {
        event.preventDefault();
        onStart();
      }}
    >
      <UnreadableInputs onCount={setUnreadable}>{children}</UnreadableInputs>
      <p className={styles.actions}>
        <Button look="primary" type="submit" disabled={running || unreadable > 0}>
          {action}
        </Button>
        {running && (
          <Button type="button" onClick={onCancel}>
            Cancel
          </Button>
        )}
      </p>
    </form>
  );
}

/** Findings that belong to no field of the form. */
export const OtherFindings = ({ findings }: { findings: readonly Finding[] }) =>
  findings.map((finding) => (
    <p key={finding.where + finding.code} className={styles.wrong} role="alert">
      {finding.message} {finding.hint}
    </p>
  ));

export const AnswerResult = ({ running, children }: { running: boolean; children: ReactNode }) => (
  <section className={styles.result} aria-label="Result" aria-busy={running}>
    {children}
  </section>
);

/** The state in words, or the error; a bar while it runs. */
export function AnswerStatus({
  answer,
  words,
}: {
  answer: Answering & { progress: { done: number; of: number } | null };
  words: Record<Answering["state"], string>;
}) {
  const { state, progress, findings, error } = answer;
  if (state === "failed" && findings.length === 0) return <ProblemView error={error} />;
  return (
    <>
      <p role="status" className={styles.status}>
        {words[state]}
      </p>
      {state === "running" && (
        <progress
          className={styles.progress}
          aria-label="Progress"
          max={progress?.of ?? 1}
          value={progress?.done ?? 0}
        />
      )}
    </>
  );
}
