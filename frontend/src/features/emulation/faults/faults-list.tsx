/** The session's faults, the state of each, and a button to recover it. */
import { useMutation } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import { faultKind, faultName } from "@/shared/faults/fault-kinds";
import { Button } from "@/ui/button";
import { secsText } from "../session/series";
import type { Session } from "../session/session";
import { scheduledFaults, spansOf } from "../session/session";
import { problemText } from "./break-draft";
import common from "./common.module.css";
import styles from "./faults-list.module.css";

export function FaultsList({ session, runId, over }: { session: Session; runId: string; over: boolean }) {
  const recover = useMutation({
    mutationFn: (fault: string) =>
      take(api.POST("/api/v1/runs/{id}/faults/{fault}/recover", { params: { path: { id: runId, fault } } })),
  });
  const spans = spansOf(session);
  const scheduled = scheduledFaults(session);
  // A flapping fault has many spans; the last one is its current state.
  const latest = [...new Map(spans.map((span) => [span.id, span])).values()].reverse();
  const failed = session.faults.filter(({ state }) => state === "failed");
  return (
    <section className={styles.faults} aria-label="Faults">
      {latest.length === 0 && failed.length === 0 && (
        <p className={styles.none}>{over ? "No faults in this run." : "No active faults."}</p>
      )}
      <ul>
        {latest.map(({ id, kind, targets, from, to, waiting }) => {
          const active = !waiting && to === null;
          return (
            <li key={id} data-active={active || undefined}>
              <span className={styles.faultId}>{faultName(id, scheduled)}</span>
              <span>
                <Struck kind={kind} targets={targets} />
                <span className="muted plain">
                  {waiting
                    ? ` from ${secsText(from)}`
                    : to === null
                      ? ` since ${secsText(from)}`
                      : ` ${secsText(from)} to ${secsText(to)}`}
                </span>
              </span>
              {active && !over ? (
                <Button small disabled={recover.isPending} onClick={() => recover.mutate(id)}>
                  {`Recover ${faultName(id, scheduled)}`}
                </Button>
              ) : (
                <span className="muted plain">
                  {waiting ? "scheduled" : active ? "until the end of the run" : "recovered"}
                </span>
              )}
            </li>
          );
        })}
        {failed.map(({ id, kind, targets, reason, at_secs }) => (
          <li key={`${id} ${at_secs}`}>
            <span className={styles.faultId}>{faultName(id, scheduled)}</span>
            <span>
              <Struck kind={kind} targets={targets} />
              <span className={common.message}>{` failed at ${secsText(at_secs)}. ${reason ?? ""}`}</span>
            </span>
          </li>
        ))}
      </ul>
      {recover.error && <p className={common.message}>{problemText(recover.error)}</p>}
    </section>
  );
}

function Struck({ kind, targets }: { kind: string; targets: readonly string[] }) {
  return (
    <>
      <strong>{faultKind(kind).title}</strong> {targets.slice(0, 4).join(", ")}
      {targets.length > 4 && ` and ${targets.length - 4} more`}
    </>
  );
}
