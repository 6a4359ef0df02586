import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ProblemView } from "@/shared/server/problem";
import { Button } from "@/ui/button";
import { formatCount, formatShare, plural } from "@/units";
import styles from "./crew.module.css";
import type { Ticks } from "./use-ticks";

export interface Counts {
  cables: number;
  done: number;
  exceptions: number;
}

/** "12 of 96 done, 1 problem". */
export function countsText({ cables, done, exceptions }: Counts): string {
  const problems = exceptions > 0 ? `, ${plural(exceptions, "problem")}` : "";
  return `${formatShare(done, cables)} done${problems}`;
}

/** Shares of done cables and of problems as one bar; the text next to it has the same numbers. */
export function Bar({ counts, label }: { counts: Counts; label: string }) {
  const share = (part: number) => `${(100 * part) / Math.max(counts.cables, 1)}%`;
  return (
    <span
      className={styles.bar}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={counts.cables}
      aria-valuenow={counts.done}
      aria-valuetext={countsText(counts)}
    >
      <span className={styles.barDone} style={{ width: share(counts.done) }} />
      <span className={styles.barException} style={{ width: share(counts.exceptions) }} />
    </span>
  );
}

/** Ticks that the server does not have yet, and what to do if it refuses them. */
export function WaitingNote({ ticks }: { ticks: Ticks }) {
  const count = ticks.waiting.size;
  if (count === 0) return null;
  if (ticks.refused)
    return (
      <ProblemView error={ticks.refused} title={`${formatCount(count)} not sent`} onRetry={ticks.sendAgain}>
        <Button onClick={ticks.discard}>Discard them</Button>
      </ProblemView>
    );
  return (
    <p className={styles.waiting} role="status">
      {plural(count, "change")} waiting. Kept on this device, sent when the server answers.
    </p>
  );
}

/** A link to a rack's cables, or to one of them. */
export function RackLink({
  plan,
  revision,
  rack,
  cable,
  children,
  className,
}: {
  plan: string;
  revision: number;
  rack: string;
  cable?: string;
  children: ReactNode;
  className?: string;
}) {
  return (
    <Link to="/plans/$id/crew" params={{ id: plan }} search={{ revision, rack, cable }} className={className}>
      {children}
    </Link>
  );
}
