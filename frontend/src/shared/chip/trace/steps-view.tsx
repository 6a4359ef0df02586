import type { ChipStep, ChipTrace } from "@/api/types";
import styles from "./chip-trace.module.css";
import { rowsOf } from "./hex";
import { BOXES } from "./pipeline";

const LABELS = new Map<string, string>(BOXES.map((box) => [box.stage, box.label]));

/** The steps of the packet through the chip, stage by stage. */
export function StepsView({ trace }: { trace: ChipTrace }) {
  return (
    <ol className={styles.steps} aria-label="Steps">
      {trace.steps.map((step, index) => (
        <li key={index} data-stage={step.stage}>
          <span className="muted">{LABELS.get(step.stage) ?? "Discard"}</span>
          <div className={styles.what}>
            <p>{step.text}</p>
            <KeyAndEntry step={step} />
            {step.before && step.after && (
              <Change before={step.before} after={step.after} changed={step.changed ?? []} />
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}

function KeyAndEntry({ step }: { step: ChipStep }) {
  const parts = step.key ?? [];
  if (parts.length === 0 && !step.entry) return null;
  return (
    <dl className={styles.key}>
      {parts.map((part) => (
        <div key={part.field}>
          <dt>{part.field}</dt>
          <dd>{part.hex}</dd>
        </div>
      ))}
      {step.entry && (
        <>
          <div>
            <dt>Value</dt>
            <dd>{step.entry.value}</dd>
          </div>
          {step.entry.mask !== "" && (
            <div>
              <dt>Mask</dt>
              <dd>{step.entry.mask}</dd>
            </div>
          )}
          <div>
            <dt>Action</dt>
            <dd>{step.entry.action}</dd>
          </div>
        </>
      )}
    </dl>
  );
}

/** Rows with changed bytes, before and after; if the length changed, the whole packet after it. */
function Change({ before, after, changed }: { before: string; after: string; changed: number[] }) {
  const same = before.length === after.length;
  return (
    <div className={styles.change}>
      {same && <Bytes title="Before" hex={before} changed={changed} />}
      <Bytes title="After" hex={after} changed={changed} />
    </div>
  );
}

export function Bytes({ title, hex, changed }: { title: string; hex: string; changed: number[] }) {
  return (
    <div className={styles.bytes}>
      <span className={styles.bytesTitle}>{title}</span>
      {rowsOf(hex, changed).map((row) => (
        <code key={row[0]!.at}>
          <span className={styles.offset}>B{row[0]!.at}</span>
          {row.map((byte) =>
            byte.changed ? <mark key={byte.at}>{byte.hex}</mark> : <span key={byte.at}>{byte.hex}</span>,
          )}
        </code>
      ))}
    </div>
  );
}
