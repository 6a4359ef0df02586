import { Button, IconButton } from "@/ui/button";
import { NumberInput, Section, Select, TextInput } from "@/ui/form";
import { FAILURE_WORDS, type FailureKind } from "../shared/run-points";
import { isObject, type JsonObject, setIn } from "../shared/spec";
import { FAILURE_KINDS, newTarget, readNames, type TargetForm, targetForm } from "./draft";
import styles from "./experiments.module.css";
import { FaultKindFields } from "./fault-kind-fields";
import { type Messages, messageAt } from "./messages";
import { ReadInput } from "./texts";

const FORMS: { value: TargetForm; label: string }[] = [
  { value: "share", label: "A share of" },
  { value: "names", label: "By name" },
  { value: "words", label: "In words" },
];

/** What breaks, when, and until when. */
export function FaultsSection({
  faults,
  messages,
  realPackets,
  onChange,
}: {
  faults: JsonObject[];
  messages: Messages;
  /** They know more ways to break than the engine. */
  realPackets: boolean;
  onChange: (faults: JsonObject[]) => void;
}) {
  const change = (at: number, fault: JsonObject) =>
    onChange(faults.map((old, place) => (place === at ? fault : old)));
  return (
    <Section title="Faults">
      {faults.length === 0 && <p className={styles.doc}>Nothing is broken.</p>}
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
    </Section>
  );
}

function FaultFields({
  number,
  fault,
  messages,
  realPackets,
  path,
  onChange,
  onRemove,
}: {
  number: number;
  fault: JsonObject;
  messages: Messages;
  realPackets: boolean;
  path: string;
  onChange: (fault: JsonObject) => void;
  onRemove: () => void;
}) {
  const form = targetForm(fault);
  const target = isObject(fault.target) ? fault.target : {};
  const label = (what: string) => `Fault ${number}, ${what}`;
  const setTarget = (next: JsonObject) => onChange({ ...fault, target: next });
  const message =
    messageAt(messages, `${path}.target`) ??
    messageAt(messages, `${path}.at_secs`) ??
    messageAt(messages, `${path}.until_secs`) ??
    messageAt(messages, path);
  const said = message ? `${path}-message` : undefined;
  return (
    <fieldset className={styles.fault}>
      <legend className="visually-hidden">{`Fault ${number}`}</legend>
      <div className={styles.faultRow}>
        <Select
          aria-label={label("how it is chosen")}
          width={104}
          value={form}
          options={FORMS}
          onChange={(next) => setTarget(newTarget(next as TargetForm))}
        />
        {form === "share" && (
          <>
            <span className={styles.ratio}>
              <NumberInput
                aria-label={label("share in per cent")}
                describedBy={said}
                value={typeof target.ratio === "number" ? Number((target.ratio * 100).toPrecision(12)) : null}
                onChange={(percent) =>
                  setTarget({ ...target, ratio: Number(((percent ?? 0) / 100).toPrecision(12)) })
                }
                min={0}
                max={100}
                unit="%"
                invalid={message !== undefined}
              />
            </span>
            <Select
              aria-label={label("kind")}
              value={String(target.kind)}
              options={FAILURE_KINDS.map((kind) => ({ value: kind, label: FAILURE_WORDS[kind].many }))}
              onChange={(kind) => setTarget({ ...target, kind: kind as FailureKind })}
            />
          </>
        )}
        {form === "names" && (
          <ReadInput<string[]>
            aria-label={label("names")}
            aria-describedby={said}
            invalid={message !== undefined}
            value={Array.isArray(target.names) ? (target.names as string[]) : []}
            text={(names) => names.join(" ")}
            read={readNames}
            placeholder="<3,001> R07 0132/<0,013>"
            onChange={(names) => setTarget({ names })}
          />
        )}
        {form === "words" && (
          <TextInput
            aria-label={label("in words")}
            aria-describedby={said}
            aria-invalid={message !== undefined || undefined}
            value={typeof target.selector === "string" ? target.selector : ""}
            placeholder="10% of level-1 switches"
            onChange={(event) => setTarget({ selector: event.target.value })}
          />
        )}
        <IconButton small icon="close" label={`Remove fault ${number}`} onClick={onRemove} />
      </div>
      <div className={styles.faultRow}>
        <span>from</span>
        <NumberInput
          aria-label={label("from second")}
          value={typeof fault.at_secs === "number" ? fault.at_secs : null}
          onChange={(secs) => onChange(setIn(fault, "at_secs", secs ?? undefined))}
          optional
          min={0}
          unit="s"
          placeholder="0"
        />
        <span>until</span>
        <NumberInput
          aria-label={label("until second")}
          value={typeof fault.until_secs === "number" ? fault.until_secs : null}
          onChange={(secs) => onChange(setIn(fault, "until_secs", secs ?? undefined))}
          optional
          min={0}
          unit="s"
          placeholder="for good"
        />
      </div>
      <FaultKindFields number={number} fault={fault} realPackets={realPackets} onChange={onChange} />
      {message && (
        <p id={said} className={styles.message}>
          {message}
        </p>
      )}
    </fieldset>
  );
}
