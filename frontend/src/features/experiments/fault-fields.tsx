import { isObject, type JsonObject, setIn } from "@/shared/plans/spec";
import { FAILURE_WORDS, type FailureKind } from "@/shared/runs/run-points";
import { IconButton } from "@/ui/button";
import { NumberInput, Select, TextInput } from "@/ui/form";
import { FAILURE_KINDS, newTarget, readNames, type TargetForm, targetForm } from "./draft";
import styles from "./experiments.module.css";
import { FaultKindFields } from "./fault-kind-fields";
import { type Messages, messageAt } from "./messages";
import { ReadInput } from "./texts";

const FORMS: { value: TargetForm; label: string }[] = [
  { value: "share", label: "Random" },
  { value: "names", label: "By name" },
  { value: "words", label: "Selector" },
];

/** One fault: its targets, times and kind. */
export function FaultFields({
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
  const label = (what: string) => `Fault ${number}, ${what}`;
  const message =
    messageAt(messages, `${path}.target`) ??
    messageAt(messages, `${path}.at_secs`) ??
    messageAt(messages, `${path}.until_secs`) ??
    messageAt(messages, path);
  const messageId = message ? `${path}-message` : undefined;
  return (
    <fieldset className={styles.fault}>
      <legend className="visually-hidden">{`Fault ${number}`}</legend>
      <div className={styles.faultRow}>
        <Select
          aria-label={label("target")}
          width={104}
          value={form}
          options={FORMS}
          onChange={(next) => onChange({ ...fault, target: newTarget(next as TargetForm) })}
        />
        <TargetFields
          fault={fault}
          label={label}
          messageId={messageId}
          invalid={message !== undefined}
          onChange={(target) => onChange({ ...fault, target })}
        />
        <IconButton small icon="close" label={`Remove fault ${number}`} onClick={onRemove} />
      </div>
      <div className={styles.faultRow}>
        <TimeFields fault={fault} label={label} onChange={onChange} />
      </div>
      <FaultKindFields number={number} fault={fault} realPackets={realPackets} onChange={onChange} />
      {message && (
        <p id={messageId} className={styles.message}>
          {message}
        </p>
      )}
    </fieldset>
  );
}

/** The target in the form that it has: a share of a kind, names, or a selector. */
function TargetFields({
  fault,
  label,
  messageId,
  invalid,
  onChange,
}: {
  fault: JsonObject;
  label: (what: string) => string;
  /** Id of the message about it. */
  messageId: string | undefined;
  invalid: boolean;
  onChange: (target: JsonObject) => void;
}) {
  const form = targetForm(fault);
  const target = isObject(fault.target) ? fault.target : {};
  return (
    <>
      {form === "share" && (
        <>
          <span className={styles.ratio}>
            <NumberInput
              aria-label={label("failure rate in per cent")}
              describedBy={messageId}
              value={typeof target.ratio === "number" ? Number((target.ratio * 100).toPrecision(12)) : null}
              onChange={(percent) =>
                onChange({ ...target, ratio: Number(((percent ?? 0) / 100).toPrecision(12)) })
              }
              min={0}
              max={100}
              unit="%"
              invalid={invalid}
            />
          </span>
          <Select
            aria-label={label("kind")}
            value={String(target.kind)}
            options={FAILURE_KINDS.map((kind) => ({ value: kind, label: FAILURE_WORDS[kind] }))}
            onChange={(kind) => onChange({ ...target, kind: kind as FailureKind })}
          />
        </>
      )}
      {form === "names" && (
        <ReadInput<string[]>
          aria-label={label("names")}
          aria-describedby={messageId}
          invalid={invalid}
          value={Array.isArray(target.names) ? (target.names as string[]) : []}
          text={(names) => names.join(" ")}
          read={readNames}
          placeholder="<3,001> R07 0132/<0,013>"
          onChange={(names) => onChange({ names })}
        />
      )}
      {form === "words" && (
        <TextInput
          aria-label={label("selector")}
          aria-describedby={messageId}
          aria-invalid={invalid || undefined}
          value={typeof target.selector === "string" ? target.selector : ""}
          placeholder="10% of level-1 switches"
          onChange={(event) => onChange({ selector: event.target.value })}
        />
      )}
    </>
  );
}

function TimeFields({
  fault,
  label,
  onChange,
}: {
  fault: JsonObject;
  label: (what: string) => string;
  onChange: (fault: JsonObject) => void;
}) {
  return (
    <>
      <span>from</span>
      <NumberInput
        aria-label={label("start, s")}
        value={typeof fault.at_secs === "number" ? fault.at_secs : null}
        onChange={(secs) => onChange(setIn(fault, "at_secs", secs ?? undefined))}
        optional
        min={0}
        unit="s"
        placeholder="0"
      />
      <span>until</span>
      <NumberInput
        aria-label={label("end, s")}
        value={typeof fault.until_secs === "number" ? fault.until_secs : null}
        onChange={(secs) => onChange(setIn(fault, "until_secs", secs ?? undefined))}
        optional
        min={0}
        unit="s"
        placeholder="permanently"
      />
    </>
  );
}
