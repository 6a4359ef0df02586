import type { Finding } from "@/api/types";
import { Button } from "@/ui/button";
import { Icon } from "@/ui/icon";
import styles from "./plan-page.module.css";
import { usePlan } from "./store";

/** The parameters give no plan, or nobody answers: the last drawing stays, and this says why it is old. */
export function RefusedBanner({
  error,
  findings,
  onRetry,
}: {
  error: unknown;
  findings: Finding[];
  onRetry: () => void;
}) {
  const canUndo = usePlan((state) => state.history.past.length > 0);
  const { undo } = usePlan.getState();
  return (
    <div className={styles.banner} role="status">
      <Icon name="warning" />
      <span>
        {findings.length > 0
          ? "These parameters give no plan. The drawing is of the last ones that did."
          : error instanceof Error
            ? error.message
            : String(error)}
      </span>
      {findings.length > 0 && canUndo ? (
        <Button small onClick={undo}>
          Undo
        </Button>
      ) : (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
