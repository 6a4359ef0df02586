/**
 * The notes next to the numbers of a measured figure: their fidelity, and whether this machine can
 * measure.
 */
import type { FigureResult } from "@/api/types";
import { useMachine } from "@/shared/server/use-machine";
import { Icon } from "@/ui/icon";
import { fidelityOf, fidelityText, reachesPrediction } from "./figures";
import styles from "./figures.module.css";

export function FidelityNote({ result }: { result: FigureResult }) {
  const fidelity = fidelityOf(result);
  if (fidelity === null) return null;
  const good = reachesPrediction(fidelity);
  return (
    <span className={good ? styles.verdict : `${styles.verdict} ${styles.differs}`} title={fidelity.reason}>
      <Icon name={good ? "check" : fidelity.verdict === "faithful" ? "info" : "warning"} size={14} />
      {fidelityText(fidelity)}
    </span>
  );
}

/** Missing on this machine; nothing where it can measure. */
export function HostNote() {
  const machine = useMachine().data;
  if (machine === undefined || machine.ready) return null;
  return (
    <section className={styles.block} aria-label="Missing on this machine">
      <p>This machine cannot run emulations. Earlier results stay available.</p>
      <ul className={styles.choices}>
        {machine.capabilities
          .filter(({ needed, available }) => needed && !available)
          .map(({ name, title, reason, fix }) => (
            <li key={name}>{`${title}: ${reason} ${fix}`}</li>
          ))}
      </ul>
    </section>
  );
}
