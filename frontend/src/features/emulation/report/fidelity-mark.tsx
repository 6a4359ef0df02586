/** Whether the numbers are the network's or the machine's, in an icon and a word. */
import { isOver } from "@/shared/runs/runs";
import { Icon, type IconName } from "@/ui/icon";
import type { Fidelity } from "../session/frames";
import type { Session } from "../session/session";
import styles from "./fidelity-mark.module.css";

type Look = Fidelity["verdict"] | "below";

const LOOKS: Record<Look, { icon: IconName; text: string }> = {
  faithful: { icon: "check", text: "faithful" },
  below: { icon: "info", text: "faithful, below the prediction" },
  "host-limited": { icon: "warning", text: "host-limited" },
  unknown: { icon: "help", text: "fidelity unknown" },
};

/**
 * A shortfall of the network itself is measured faithfully, but it is no success. Older runs name
 * no cause.
 */
const lookOf = ({ verdict, cause = "none" }: Fidelity): Look =>
  verdict === "faithful" && cause !== "none" ? "below" : verdict;

/** Without a verdict: the run is in progress, or it is `over` and never got one. */
export function FidelityMark({ fidelity, over = false }: { fidelity: Fidelity | null; over?: boolean }) {
  const look = fidelity ? lookOf(fidelity) : "unknown";
  const { icon, text } = LOOKS[look];
  return (
    <span
      className={styles.fidelity}
      data-verdict={fidelity ? look : "pending"}
      title={
        fidelity?.reason ??
        (over
          ? "The run ended without a verdict."
          : "The verdict at the end of the run compares goodput with the single-pair baseline, the ideal and the host CPU.")
      }
    >
      <Icon name={fidelity ? icon : over ? "help" : "history"} size={12} />
      <span>{fidelity ? text : over ? "no verdict" : "verdict at end of run"}</span>
    </span>
  );
}

export const fidelityText = ({ report, live }: Session): string =>
  report ? LOOKS[lookOf(report.fidelity)].text : isOver(live.state) ? "no verdict" : "verdict at end of run";
