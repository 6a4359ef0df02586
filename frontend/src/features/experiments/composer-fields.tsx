/** The sections of an experiment's form. */
import type { Ref } from "react";
import { Section, TextInput } from "@/ui/form";
import { type Draft, faultsOf, plansOf, withFaults, withPlans } from "./draft";
import { EmulationSection } from "./emulation-section";
import { engineOf } from "./engine";
import { EngineSection } from "./engine-section";
import styles from "./experiments.module.css";
import { FaultsSection } from "./faults-section";
import { HypothesisSection } from "./hypothesis-section";
import { messageAt } from "./messages";
import { PlansSection } from "./plans-section";
import { ScenarioFile } from "./scenario-file";
import { ScheduleFields } from "./schedule-fields";
import { SweepSection } from "./sweep-section";
import { TakenNote } from "./taken-note";
import { TrafficSection } from "./traffic-section";
import type { ComposerState } from "./use-composer";

export function ComposerFields({
  ref,
  draft,
  change,
  state,
}: {
  ref: Ref<HTMLDivElement>;
  draft: Draft;
  change: (draft: Draft) => void;
  state: ComposerState;
}) {
  const { choices, routings, estimate, pending, messages, set, taken } = state;
  const realPackets = engineOf(draft) === "emulation";
  return (
    <div className={styles.fields} ref={ref}>
      <h1 className={styles.title}>New experiment</h1>
      <ScenarioFile draft={draft} onOpen={change} />
      <EngineSection draft={draft} onChange={change} />
      {realPackets && <TakenNote state={taken} />}
      <PlansSection
        plans={plansOf(draft)}
        choices={choices}
        estimate={pending ? undefined : estimate}
        messages={messages}
        most={realPackets ? 1 : undefined}
        onChange={(plans) => change(withPlans(draft, plans))}
      />
      <TrafficSection
        draft={draft}
        routings={routings}
        messages={messages}
        realPackets={realPackets}
        set={set}
      />
      {realPackets && <EmulationSection draft={draft} messages={messages} set={set} onChange={change} />}
      <FaultsSection
        realPackets={realPackets}
        faults={faultsOf(draft)}
        messages={messages}
        onChange={(faults) => change(withFaults(draft, faults))}
      >
        {/* The flow engine computes one state: it has no use for times. */}
        {engineOf(draft) !== "flow" && (
          <ScheduleFields draft={draft} messages={messages} realPackets={realPackets} onChange={change} />
        )}
      </FaultsSection>
      <HypothesisSection draft={draft} messages={messages} onChange={change} />
      {!realPackets && <SweepSection draft={draft} messages={messages} onChange={change} />}
      <Section title="Name">
        <TextInput
          aria-label="Name of the experiment"
          value={typeof draft.name === "string" ? draft.name : ""}
          placeholder="generated from plan and traffic"
          maxLength={120}
          onChange={(event) => set("name", event.target.value || undefined)}
        />
        {messageAt(messages, "name") && <p className={styles.message}>{messageAt(messages, "name")}</p>}
      </Section>
    </div>
  );
}
