import type { ReactNode } from "react";
import type { JsonObject } from "@/shared/plans/spec";
import { Button } from "@/ui/button";
import { Section } from "@/ui/form";
import { newTarget } from "./draft";
import styles from "./experiments.module.css";
import { FaultFields } from "./fault-fields";
import type { Messages } from "./messages";

/** The faults of an experiment, with their times. */
export function FaultsSection({
  faults,
  messages,
  realPackets,
  onChange,
  children,
}: {
  faults: JsonObject[];
  messages: Messages;
  /** An emulation supports more kinds of faults than the flow engine. */
  realPackets: boolean;
  onChange: (faults: JsonObject[]) => void;
  /** Below the listed faults. */
  children?: ReactNode;
}) {
  const change = (at: number, fault: JsonObject) =>
    onChange(faults.map((old, place) => (place === at ? fault : old)));
  return (
    <Section title="Faults">
      {faults.length === 0 && <p className="muted tight">No faults.</p>}
      {faults.map((fault, at) => (
        <FaultFields
          key={at}
          number={at + 1}
          fault={fault}
          messages={messages}
          realPackets={realPackets}
          path={`faults.${at}`}
          onChange={(next) => change(at, next)}
          onRemove={() => onChange(faults.filter((_, place) => place !== at))}
        />
      ))}
      {messages.get("faults") && <p className={styles.message}>{messages.get("faults")}</p>}
      <Button
        small
        look="quiet"
        icon="plus"
        onClick={() => onChange([...faults, { target: newTarget("share") }])}
      >
        Add a fault
      </Button>
      {children}
    </Section>
  );
}
