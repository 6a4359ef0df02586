/** What the run is to hold: a metric, its bound, and how long it may be out of it. */
import type { components } from "@/api/schema";
import { Field, NumberInput, Section, Select } from "@/ui/form";
import { isObject, type Json, type JsonObject } from "../shared/spec";
import type { Draft } from "./draft";
import styles from "./emulation-section.module.css";
import { emulationOf, withEmulation } from "./engine";
import { type Messages, messageAt } from "./messages";

type Metric = components["schemas"]["Hypothesis"]["metric"];

const METRICS: Record<
  Metric,
  { label: string; unit: string; factor: number; bound: number; most?: boolean }
> = {
  "goodput-share": { label: "Goodput, % of baseline", unit: "%", factor: 0.01, bound: 0.6 },
  "abt-share": { label: "ABT, % of baseline", unit: "%", factor: 0.01, bound: 0.6 },
  goodput: { label: "Goodput", unit: "Mb/s", factor: 1e6, bound: 1e9 },
  abt: { label: "ABT", unit: "Mb/s", factor: 1e6, bound: 1e9 },
  "stalled-flows": { label: "Stalled flows", unit: "flows", factor: 1, bound: 0, most: true },
};

export function HypothesisSection({
  draft,
  messages,
  onChange,
}: {
  draft: Draft;
  messages: Messages;
  onChange: (draft: Draft) => void;
}) {
  const { hypothesis } = emulationOf(draft);
  const stated = isObject(hypothesis) ? hypothesis : null;
  return (
    <Section title="Hypothesis">
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={stated !== null}
          onChange={(event) =>
            onChange(
              withEmulation(
                draft,
                "hypothesis",
                event.target.checked ? { metric: "goodput-share", bound: 0.6, abort: false } : undefined,
              ),
            )
          }
        />
        Test a hypothesis
      </label>
      {stated && <HypothesisFields stated={stated} draft={draft} messages={messages} onChange={onChange} />}
    </Section>
  );
}

/** The metric, its bound, and how long the run may be out of it. */
function HypothesisFields({
  stated,
  draft,
  messages,
  onChange,
}: {
  stated: JsonObject;
  draft: Draft;
  messages: Messages;
  onChange: (draft: Draft) => void;
}) {
  const change = (path: string, value: Json | undefined) =>
    onChange(withEmulation(draft, `hypothesis.${path}`, value));
  const metric = METRICS[(stated.metric as Metric | undefined) ?? "goodput-share"];
  return (
    <>
      <Field label="What" controlWidth={180} message={messageAt(messages, "emulation.hypothesis.metric")}>
        {({ id }) => (
          <Select
            id={id}
            value={String(stated.metric ?? "goodput-share")}
            options={Object.entries(METRICS).map(([value, { label }]) => ({ value, label }))}
            onChange={(next) =>
              onChange(
                withEmulation(draft, "hypothesis", {
                  ...stated,
                  metric: next,
                  bound: METRICS[next as Metric].bound,
                }),
              )
            }
          />
        )}
      </Field>
      <Field
        label={metric.most ? "Stays at most" : "Stays at least"}
        controlWidth={120}
        message={messageAt(messages, "emulation.hypothesis.bound")}
      >
        {({ id, describedBy }) => (
          <NumberInput
            id={id}
            describedBy={describedBy}
            value={
              typeof stated.bound === "number" ? Number((stated.bound / metric.factor).toPrecision(9)) : null
            }
            onChange={(bound) =>
              change("bound", bound === null ? 0 : Number((bound * metric.factor).toPrecision(9)))
            }
            min={0}
            unit={metric.unit}
          />
        )}
      </Field>
      <Field
        label="Recovers within"
        controlWidth={120}
        message={messageAt(messages, "emulation.hypothesis.for_secs")}
      >
        {({ id, describedBy }) => (
          <NumberInput
            id={id}
            describedBy={describedBy}
            value={typeof stated.for_secs === "number" ? stated.for_secs : null}
            onChange={(secs) => change("for_secs", secs ?? undefined)}
            optional
            min={0.1}
            unit="s"
            placeholder="2"
          />
        )}
      </Field>
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={stated.abort !== false}
          onChange={(event) => change("abort", event.target.checked)}
        />
        End the run when the hypothesis is not met
      </label>
    </>
  );
}
