/** Whether a number is the network's or the machine's: beside every number, in an icon and a word. */
import { Icon, type IconName } from "@/ui/icon";
import { isOver } from "../../shared/runs";
import type { Fidelity } from "../session/frames";
import type { Session } from "../session/session";
import styles from "./fidelity-mark.module.css";

const LOOKS: Record<Fidelity["verdict"], { icon: IconName; text: string }> = {
  faithful: { icon: "check", text: "faithful" },
  "host-limited": { icon: "warning", text: "host-limited" },
  unknown: { icon: "help", text: "fidelity unknown" },
};

/** Without a verdict: the run goes on, or it is `over` and never got one. */
export function FidelityMark({ fidelity, over = false }: { fidelity: Fidelity | null; over?: boolean }) {
  const { icon, text } = LOOKS[fidelity?.verdict ?? "unknown"];
  return (
    <span
      className={styles.fidelity}
      data-verdict={fidelity?.verdict ?? "pending"}
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
  report ? LOOKS[report.fidelity.verdict].text : isOver(live.state) ? "no verdict" : "verdict at end of run";
