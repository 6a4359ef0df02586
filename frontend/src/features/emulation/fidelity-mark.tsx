/** Whether a number is the network's or the machine's: beside every number, in an icon and a word. */
import { Icon, type IconName } from "@/ui/icon";
import { isOver } from "../shared/runs";
import styles from "./emulation.module.css";
import type { Fidelity } from "./frames";
import type { Session } from "./session";

const LOOKS: Record<Fidelity["verdict"], { icon: IconName; text: string }> = {
  faithful: { icon: "check", text: "faithful" },
  "emulator-limited": { icon: "warning", text: "limited by the machine" },
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
          ? "The run ended before it was judged."
          : "Judged when the run ends, by a pair measured alone, the ideal and the CPU.")
      }
    >
      <Icon name={fidelity ? icon : over ? "help" : "history"} size={12} />
      <span>{fidelity ? text : over ? "not judged" : "not judged yet"}</span>
    </span>
  );
}

export const fidelityText = ({ report, live }: Session): string =>
  report ? LOOKS[report.fidelity.verdict].text : `fidelity not judged${isOver(live.state) ? "" : " yet"}`;
