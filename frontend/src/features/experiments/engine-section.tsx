import { Section } from "@/ui/form";
import { Segmented } from "@/ui/tabs";
import type { Draft } from "./draft";
import { type Engine, engineOf, withEngine } from "./engine";
import styles from "./experiments.module.css";

const TEXTS: Record<Engine, string> = {
  flow: "Computed in milliseconds, for any size, as a sweep if you like. Modelled.",
  emulation: "Servers are started on this machine and send real packets while things break. Measured.",
};

/** Who answers: the flow engine, or packets. */
export function EngineSection({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const engine = engineOf(draft);
  return (
    <Section title="Answered by">
      <Segmented
        label="Answered by"
        value={engine}
        onChange={(next) => onChange(withEngine(draft, next))}
        items={[
          { id: "flow", label: "Flow engine" },
          { id: "emulation", label: "Real packets" },
        ]}
      />
      <p className={styles.doc}>{TEXTS[engine]}</p>
    </Section>
  );
}
