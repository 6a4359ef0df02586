import { Section } from "@/ui/form";
import { Segmented } from "@/ui/tabs";
import type { Draft } from "./draft";
import { type Engine, engineOf, withEngine } from "./engine";
import styles from "./experiments.module.css";
import { answeredHypotheses, hypothesesOf, withHypotheses } from "./hypotheses";

const TEXTS: Record<Engine, string> = {
  flow: "Modelled. Any size, seconds to minutes.",
  packet: "Modelled, packet by packet: queues, drops, timeouts and completion times. Seconds to hours.",
  emulation: "Measured. Servers run on this machine and send real packets while faults are injected.",
};

/** Who answers: the flow engine, simulated packets, or real ones. */
export function EngineSection({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const engine = engineOf(draft);
  return (
    <Section title="Method">
      <Segmented
        label="Method"
        value={engine}
        onChange={(next) =>
          onChange(answeredHypotheses(withEngine(withHypotheses(draft, hypothesesOf(draft)), next)))
        }
        items={[
          { id: "flow", label: "Prediction" },
          { id: "packet", label: "Simulation" },
          { id: "emulation", label: "Emulation" },
        ]}
      />
      <p className={styles.doc}>{TEXTS[engine]}</p>
    </Section>
  );
}
