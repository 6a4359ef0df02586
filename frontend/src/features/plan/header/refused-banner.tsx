import type { Finding } from "@/api/types";
import type { PlanSpec } from "@/shared/plans/spec";
import { Button } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { usePlan } from "../state/store";
import styles from "./refused-banner.module.css";

/**
 * The parameters are invalid, or the server does not answer: the last drawing stays, and this
 * banner explains why it is old.
 */
export function RefusedBanner({
  error,
  valid,
  findings,
  onRetry,
}: {
  error: unknown;
  /** The spec of the drawing that remains on screen. */
  valid: PlanSpec;
  findings: Finding[];
  onRetry: () => void;
}) {
  const { replace } = usePlan.getState();
  return (
    <div className={styles.banner} role="status">
      <Icon name="warning" />
      <span>
        {findings.length > 0
          ? "Not valid. Showing your last valid plan."
          : error instanceof Error
            ? error.message
            : String(error)}
      </span>
      {findings.length > 0 ? (
        <Button small onClick={() => replace(valid, "restore")}>
          Back to the valid plan
        </Button>
      ) : (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
