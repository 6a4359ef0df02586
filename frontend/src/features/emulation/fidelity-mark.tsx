/** Whether a number is the network's or the machine's: beside every number, in an icon and a word. */
import { Icon, type IconName } from "@/ui/icon";
import styles from "./emulation.module.css";
import type { Fidelity } from "./frames";
import type { Session } from "./session";

const LOOKS: Record<Fidelity["verdict"], { icon: IconName; text: string }> = {
  faithful: { icon: "check", text: "faithful" },
  "emulator-limited": { icon: "warning", text: "limited by the machine" },
  unknown: { icon: "help", text: "fidelity unknown" },
};

export function FidelityMark({ fidelity }: { fidelity: Fidelity | null }) {
  const { icon, text } = LOOKS[fidelity?.verdict ?? "unknown"];
  return (
    <span
      className={styles.fidelity}
      data-verdict={fidelity?.verdict ?? "pending"}
      title={fidelity?.reason ?? "Judged when the run ends, by a pair measured alone, the ideal and the CPU."}
    >
      <Icon name={fidelity ? icon : "history"} size={12} />
      <span>{fidelity ? text : "not judged yet"}</span>
    </span>
  );
}

export const fidelityText = ({ report }: Session): string =>
  report ? LOOKS[report.fidelity.verdict].text : "fidelity not judged yet";
