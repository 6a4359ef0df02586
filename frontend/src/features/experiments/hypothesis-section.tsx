/** The hypotheses of a run: metrics, their bounds, and how long an emulation may violate them. */
import type { Json, JsonObject } from "@/shared/plans/spec";
import { Button, IconButton } from "@/ui/button";
import { Field, NumberInput, Section, Select } from "@/ui/form";
import type { Draft } from "./draft";
import { engineOf } from "./engine";
import styles from "./experiments.module.css";
import {
  hypothesesOf,
  METRICS,
  type Metric,
  metricOf,
  metricsOf,
  newHypothesis,
  withHypotheses,
} from "./hypotheses";
import { type Messages, messageAt } from "./messages";

/** The most that the server takes. */
const MOST = 16;

export function HypothesisSection({
  draft,
  messages,
  onChange,
}: {
  draft: Draft;
  messages: Messages;
  onChange: (draft: Draft) => void;
}) {
  const all = hypothesesOf(draft);
  const set = (next: JsonObject[]) => onChange(withHypotheses(draft, next));
  return (
    <Section title="Hypotheses">
      {all.length === 0 && <p className="muted tight">No hypotheses.</p>}
      {all.map((stated, at) => (
        <HypothesisFields
          key={at}
          number={at + 1}
          stated={stated}
          draft={draft}
          messages={messages}
          onChange={(next) => set(all.map((old, place) => (place === at ? next : old)))}
          onRemove={() => set(all.filter((_, place) => place !== at))}
        />
      ))}
      {messages.get("hypotheses") && <p className={styles.message}>{messages.get("hypotheses")}</p>}
      <Button
        small
        look="quiet"
        icon="plus"
        disabled={all.length >= MOST}
        onClick={() => set([...all, newHypothesis(engineOf(draft))])}
      >
        Add a hypothesis
      </Button>
    </Section>
  );
}

/** The metric, its bound, and how long a run of real packets may be out of it. */
function HypothesisFields({
  number,
  stated,
  draft,
  messages,
  onChange,
  onRemove,
}: {
  number: number;
  stated: JsonObject;
  draft: Draft;
  messages: Messages;
  onChange: (stated: JsonObject) => void;
  onRemove: () => void;
}) {
  const change = (field: string, value: Json | undefined) => {
    const { [field]: _, ...rest } = stated;
    onChange(value === undefined ? rest : { ...rest, [field]: value });
  };
  const name = metricOf(stated);
  const metric = METRICS[name];
  const engine = engineOf(draft);
  const messageOf = (field: string) =>
    messageAt(messages, `hypotheses.${number - 1}.${field}`) ??
    (number === 1 ? messageAt(messages, `emulation.hypothesis.${field}`) : undefined);
  const known = metricsOf(engine);
  return (
    <fieldset className={styles.fault}>
      <legend className="visually-hidden">{`Hypothesis ${number}`}</legend>
      <div className={`${styles.faultRow} ${styles.metric}`}>
        <Select
          aria-label={`Hypothesis ${number}, metric`}
          value={name}
          options={(known.includes(name) ? known : [...known, name]).map((value) => ({
            value,
            label: METRICS[value].label,
          }))}
          onChange={(next) => onChange({ ...stated, metric: next, bound: METRICS[next as Metric].bound })}
        />
        <IconButton small icon="close" label={`Remove hypothesis ${number}`} onClick={onRemove} />
      </div>
      {messageOf("metric") && <p className={styles.message}>{messageOf("metric")}</p>}
      <Field
        label={metric.most ? "Stays at most" : "Stays at least"}
        controlWidth={120}
        message={messageOf("bound")}
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
      {engine === "emulation" && (
        <DurationFields stated={stated} message={messageOf("for_secs")} change={change} />
      )}
    </fieldset>
  );
}

/** For an emulation: how long a violation is tolerated, and whether a longer one ends the run. */
function DurationFields({
  stated,
  message,
  change,
}: {
  stated: JsonObject;
  message: string | undefined;
  change: (field: string, value: Json | undefined) => void;
}) {
  return (
    <>
      <Field label="Recovers within" controlWidth={120} message={message}>
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
