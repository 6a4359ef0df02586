import { kindsOf } from "@/shared/faults/fault-kinds";
import { Section } from "@/ui/form";
import { Segmented } from "@/ui/tabs";
import type { Draft } from "./draft";
import { type Engine, engineOf, withEngine } from "./engine";
import { answeredHypotheses, hypothesesOf, withHypotheses } from "./hypotheses";
import { schedulesOf, withSchedules } from "./schedule-fields";

const TEXTS: Record<Engine, string> = {
  flow: "Modelled. Any size, seconds to minutes.",
  packet: "Modelled, packet by packet: queues, drops, timeouts and completion times. Seconds to hours.",
  emulation: "Measured. Servers run on this machine and send real packets while faults are injected.",
};

/**
 * Keeps the random faults of kinds that an engine supports; the flow engine computes a single
 * state, so it supports none.
 */
function knownSchedules(draft: Draft, engine: Engine): Draft {
  const kinds = new Set(
    engine === "flow" ? [] : kindsOf(engine === "emulation").map(({ kind }) => String(kind)),
  );
  const known = schedulesOf(draft)
    .map((schedule) => ({
      ...schedule,
      kinds: Array.isArray(schedule.kinds) ? schedule.kinds.filter((kind) => kinds.has(String(kind))) : [],
    }))
    .filter((item) => item.kinds.length > 0);
  return withSchedules(draft, known);
}

/** Switches the draft to another engine, and keeps the fields that the engine supports. */
export const toEngine = (draft: Draft, engine: Engine): Draft =>
  answeredHypotheses(knownSchedules(withEngine(withHypotheses(draft, hypothesesOf(draft)), engine), engine));

/** The method: prediction, simulation or emulation. */
export function EngineSection({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const engine = engineOf(draft);
  return (
    <Section title="Method" guide="method">
      <Segmented
        label="Method"
        value={engine}
        onChange={(next) => onChange(toEngine(draft, next))}
        items={[
          { id: "flow", label: "Prediction" },
          { id: "packet", label: "Simulation" },
          { id: "emulation", label: "Emulation" },
        ]}
      />
      <p className="muted tight">{TEXTS[engine]}</p>
    </Section>
  );
}
