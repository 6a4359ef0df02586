import type { FailureRate, Finding } from "@/api/types";
import { OtherFindings } from "@/shared/answers/answer-page";
import { Field, NumberInput, Section, Select } from "@/ui/form";
import { BasisBadge } from "@/ui/marks";
import styles from "./life.module.css";
import { messageOf, UNIT_NAMES, UNITS, type Values } from "./question";

const PLACES = [
  { value: "1", label: "As published" },
  { value: "0.125", label: "Sealed in nitrogen: 1/8" },
  { value: "0.25", label: "A quarter" },
  { value: "0.5", label: "Half" },
  { value: "2", label: "Twice" },
];
const SHAPES = [
  { value: "1", label: "Constant (exponential)" },
  { value: "2", label: "Parts wear out (Weibull 2)" },
  { value: "0.7", label: "Early failures (Weibull 0.7)" },
];

interface Props {
  values: Values;
  onValues: (values: Values) => void;
  rates: readonly FailureRate[];
  findings: readonly Finding[];
}

export function LifeForm({ values, onValues, rates, findings }: Props) {
  const set = (change: Partial<Values>) => onValues({ ...values, ...change });
  const named = ["years", "seeds", "visit_months", "visit_below", "servers", "abt", "visit_price"];
  const others = findings.filter(
    ({ where }) => !named.some((name) => where === name || where.endsWith(`.${name}`)),
  );
  return (
    <>
      <Section title="Life">
        <Numbered
          label="Years"
          field="years"
          value={values.years}
          most={30}
          set={(years) => set({ years: years ?? 5 })}
          findings={findings}
        />
        <Numbered
          label="Seeds"
          field="seeds"
          value={values.seeds}
          most={2000}
          integer
          set={(seeds) => set({ seeds: seeds ?? 200 })}
          findings={findings}
        />
      </Section>
      <Repairs values={values} set={set} findings={findings} />
      <Section title="Floors">
        <Numbered
          label="Servers connected"
          field="servers"
          unit="%"
          value={values.floorServers}
          most={100}
          set={(floor) => set({ floorServers: floor ?? 90 })}
          findings={findings}
        />
        <Numbered
          label="ABT"
          field="abt"
          unit="%"
          value={values.floorAbt}
          most={100}
          set={(floor) => set({ floorAbt: floor ?? 50 })}
          findings={findings}
        />
      </Section>
      <Rates values={values} set={set} rates={rates} />
      <OtherFindings findings={others} />
    </>
  );
}

type Setter = (change: Partial<Values>) => void;

function Numbered({
  label,
  field,
  title,
  value,
  most,
  unit,
  integer,
  optional,
  set,
  findings,
}: {
  label: string;
  /** The engine's name of it. */
  field: string;
  title?: string;
  value: number | null;
  most: number;
  unit?: string;
  integer?: boolean;
  optional?: boolean;
  set: (value: number | null) => void;
  findings: readonly Finding[];
}) {
  return (
    <Field label={label} title={title} message={messageOf(field, findings)} controlWidth={120}>
      {(ids) => (
        <NumberInput
          id={ids.id}
          describedBy={ids.describedBy}
          value={value}
          min={0}
          max={most}
          unit={unit}
          integer={integer}
          optional={optional}
          placeholder={optional ? "none" : undefined}
          onChange={set}
        />
      )}
    </Field>
  );
}

function Repairs({ values, set, findings }: { values: Values; set: Setter; findings: readonly Finding[] }) {
  return (
    <Section title="Compare sealed with">
      <Numbered
        label="A visit every"
        field="visit_months"
        unit="months"
        optional
        value={values.visits}
        most={600}
        set={(visits) => set({ visits })}
        findings={findings}
      />
      <Numbered
        label="A visit below"
        title="Called when the share of servers alive falls below this; it comes a month later."
        field="visit_below"
        unit="% servers"
        optional
        value={values.below}
        most={100}
        set={(below) => set({ below })}
        findings={findings}
      />
      <Numbered
        label="Price of a visit"
        title="Beside parts and work, in the price book's currency."
        field="visit_price"
        optional
        value={values.visitPrice}
        most={1e9}
        set={(visitPrice) => set({ visitPrice })}
        findings={findings}
      />
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={values.kit}
          onChange={(event) => set({ kit: event.target.checked })}
        />{" "}
        Visits with this spares kit for the whole life
      </label>
      {values.kit &&
        UNITS.map((unit) => (
          <Numbered
            key={unit}
            label={UNIT_NAMES[unit]}
            field={`spares.${unit}`}
            integer
            value={values.spares[unit]}
            most={1_000_000}
            set={(count) => set({ spares: { ...values.spares, [unit]: count ?? 0 } })}
            findings={findings}
          />
        ))}
    </Section>
  );
}

/** How often parts fail: changed ones are marked, and each has its source. */
function Rates({ values, set, rates }: { values: Values; set: Setter; rates: readonly FailureRate[] }) {
  return (
    <Section title="Failure rates">
      <Field
        label="Rates are"
        title="Microsoft's Project Natick (2020): a container sealed in nitrogen had an eighth of the failures on land."
        controlWidth={200}
      >
        {(ids) => (
          <Select
            id={ids.id}
            value={String(values.factor)}
            options={PLACES}
            onChange={(factor) => set({ factor: Number(factor) })}
          />
        )}
      </Field>
      <Field label="Over time" controlWidth={200}>
        {(ids) => (
          <Select
            id={ids.id}
            value={String(values.shape)}
            options={SHAPES}
            onChange={(shape) => set({ shape: Number(shape) })}
          />
        )}
      </Field>
      <details className={styles.rates}>
        <summary>Each part and its source</summary>
        {rates.map((rate) => (
          <div key={rate.part} className={styles.rate}>
            <Field label={rate.title} chosen={rate.part in values.rates} controlWidth={104}>
              {(ids) => (
                <NumberInput
                  id={ids.id}
                  describedBy={ids.describedBy}
                  value={values.rates[rate.part] ?? null}
                  placeholder={String(Number((100 * rate.afr).toPrecision(3)))}
                  min={0}
                  max={99.9}
                  unit="%/yr"
                  optional
                  onChange={(percent) => {
                    const { [rate.part]: _, ...rest } = values.rates;
                    set({ rates: percent === null ? rest : { ...rest, [rate.part]: percent } });
                  }}
                />
              )}
            </Field>
            <p className={styles.source}>
              <BasisBadge basis={rate.basis} /> {rate.confidence} confidence, {rate.date}. {rate.source}.{" "}
              {rate.note}
            </p>
          </div>
        ))}
      </details>
    </Section>
  );
}
