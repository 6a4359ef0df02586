/** The emergency stop of a live run: one press, and it reports when everything has recovered. */
import { useMutation } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import { isOver } from "@/shared/runs/runs";
import { Button } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { secsText } from "../session/series";
import { brokenAt, type Session } from "../session/session";
import styles from "./stop-all.module.css";

export function useStopAll(runId: string) {
  return useMutation({
    mutationFn: () => take(api.POST("/api/v1/runs/{id}/stop-all", { params: { path: { id: runId } } })),
  });
}

export function StopAll({
  session,
  ordered,
  onStop,
}: {
  session: Session;
  /** The order was given. */
  ordered: boolean;
  onStop: () => void;
}) {
  const over = isOver(session.live.state);
  const broken = brokenAt(session.faults, Number.POSITIVE_INFINITY).length;
  const last = session.stops.at(-1);
  // An order that no frame has answered yet.
  const waiting = !over && ordered && session.stops.length === 0;
  return (
    <>
      <span className={styles.stopState} role="status" data-testid="stop-state">
        {waiting ? (
          "Recovering…"
        ) : last && broken === 0 ? (
          <>
            <Icon name="check" size={14} />
            {last.recovered ? `All recovered at ${secsText(last.at_secs)}` : "Not everything recovered"}
          </>
        ) : last && !last.recovered ? (
          "Not everything recovered"
        ) : null}
      </span>
      {!over && (
        <Button
          className={styles.stopAll}
          disabled={waiting}
          title="Recover all faults and cancel scheduled ones. Traffic continues."
          onClick={onStop}
        >
          <span className={styles.stopSign} aria-hidden="true" />
          Recover all faults
        </Button>
      )}
    </>
  );
}
