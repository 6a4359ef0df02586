import type { Finding, SearchMetric } from "@/api/types";
import { OtherFindings } from "@/shared/answers/answer-page";
import answer from "@/shared/answers/answer-page.module.css";
import { Button } from "@/ui/button";
import { Field, NumberInput, Section, Select, TextInput } from "@/ui/form";
import { messageOf, type Row, row, type Values } from "./question";
import styles from "./search.module.css";

const RELATIONS = [
  { value: "at_least", label: "at least" },
  { value: "at_most", label: "at most" },
];
const KINDS = [
  { value: "switch", label: "Switches" },
  { value: "server", label: "Servers" },
  { value: "link", label: "Links" },
];
const ENCLOSURES = [
  { value: "container-40ft", label: "40-ft container" },
  { value: "container-20ft", label: "20-ft container" },
  { value: "rows", label: "Open rows" },
];

interface Props {
  values: Values;
  onValues: (values: Values) => void;
  metrics: readonly SearchMetric[];
  families: readonly { family: string; title: string }[];
  findings: readonly Finding[];
}

export function QuestionForm({ values, onValues, metrics, families, findings }: Props) {
  const set = (change: Partial<Values>) => onValues({ ...values, ...change });
  const options = metrics.map((metric) => ({ value: metric.name, label: metric.title }));
  const others = findings.filter(({ where }) => !where.startsWith("constraints["));
  return (
    <>
      <Constraints values={values} onValues={onValues} metrics={metrics} findings={findings} />
      <Section title="Objectives">
        <Field label="Minimise" controlWidth={180}>
          {(ids) => (
            <Select
              id={ids.id}
              value={values.minimise}
              options={options}
              onChange={(minimise) => set({ minimise })}
            />
          )}
        </Field>
        <Field label="Maximise" controlWidth={180}>
          {(ids) => (
            <Select
              id={ids.id}
              value={values.maximise}
              options={[{ value: "", label: "Nothing else" }, ...options]}
              onChange={(maximise) => set({ maximise })}
            />
          )}
        </Field>
      </Section>
      <Failures values={values} set={set} />
      <Section title="Plans to try">
        <Field label="Site" controlWidth={180}>
          {(ids) => (
            <Select
              id={ids.id}
              value={values.enclosure}
              options={ENCLOSURES}
              onChange={(enclosure) => set({ enclosure: enclosure as Values["enclosure"] })}
            />
          )}
        </Field>
        <fieldset className={styles.families}>
          <legend>Families</legend>
          {families.map(({ family, title }) => (
            <label key={family}>
              <input
                type="checkbox"
                checked={!values.without.includes(family)}
                onChange={(event) =>
                  set({
                    without: event.target.checked
                      ? values.without.filter((item) => item !== family)
                      : [...values.without, family],
                  })
                }
              />{" "}
              {title}
            </label>
          ))}
        </fieldset>
      </Section>
      <OtherFindings findings={others} />
    </>
  );
}

/** The failures after which ABT is computed again. */
function Failures({ values, set }: { values: Values; set: (change: Partial<Values>) => void }) {
  return (
    <Section title="Failures">
      <Field label="What fails" controlWidth={180}>
        {(ids) => (
          <Select
            id={ids.id}
            value={values.kind}
            options={KINDS}
            onChange={(kind) => set({ kind: kind as Values["kind"] })}
          />
        )}
      </Field>
      <Field label="Failure rate" controlWidth={180}>
        {(ids) => (
          <NumberInput
            id={ids.id}
            describedBy={ids.describedBy}
            value={values.percent}
            min={0}
            max={100}
            unit="%"
            onChange={(percent) => set({ percent: percent ?? 10 })}
          />
        )}
      </Field>
      <Field label="Seeds" title="The worst of them counts." controlWidth={180}>
        {(ids) => (
          <TextInput
            id={ids.id}
            value={values.seeds}
            onChange={(event) => set({ seeds: event.target.value })}
          />
        )}
      </Field>
    </Section>
  );
}

function Constraints({ values, onValues, metrics, findings }: Omit<Props, "families">) {
  const options = metrics.map((metric) => ({ value: metric.name, label: metric.title }));
  const change = (id: number, to: Partial<Row>) =>
    onValues({ ...values, rows: values.rows.map((item) => (item.id === id ? { ...item, ...to } : item)) });
  return (
    <Section title="Constraints">
      <ul className={styles.rows}>
        {values.rows.map((item, index) => {
          const message = messageOf(index, findings);
          const metric = metrics.find(({ name }) => name === item.metric);
          const title = metric?.title ?? item.metric;
          return (
            <li key={item.id} className={styles.row}>
              <Select
                aria-label={`Metric ${index + 1}`}
                value={item.metric}
                options={options}
                onChange={(name) => change(item.id, { metric: name })}
              />
              <Select
                aria-label={`${title}: relation`}
                value={item.relation}
                options={RELATIONS}
                onChange={(relation) => change(item.id, { relation: relation as Row["relation"] })}
              />
              <TextInput
                aria-label={`${title}: value`}
                aria-invalid={message !== undefined || undefined}
                title={metric?.units.filter(Boolean).join(", ")}
                value={item.value}
                onChange={(event) => change(item.id, { value: event.target.value })}
              />
              <Button
                small
                look="quiet"
                aria-label={`Remove ${title}`}
                onClick={() => onValues({ ...values, rows: values.rows.filter(({ id }) => id !== item.id) })}
              >
                ×
              </Button>
              {message && <p className={answer.wrong}>{message}</p>}
            </li>
          );
        })}
      </ul>
      <Button
        small
        onClick={() => onValues({ ...values, rows: [...values.rows, row("cost", "at_most", "")] })}
      >
        Add constraint
      </Button>
    </Section>
  );
}
