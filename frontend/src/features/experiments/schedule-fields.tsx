/**
 * Schedules of random faults: kinds, intervals, repairs and a seed. The estimate lists the faults
 * that they draw.
 */
import { kindsOf } from "@/shared/faults/fault-kinds";
import { isObject, type Json, type JsonObject, setIn } from "@/shared/plans/spec";
import { Button, IconButton } from "@/ui/button";
import { Field, NumberInput } from "@/ui/form";
import { DEFAULT_SEED, type Draft } from "./draft";
import styles from "./experiments.module.css";
import { type Messages, messageAt } from "./messages";

/** The most that the server takes. */
const MOST = 4;
const NEW: JsonObject = {
  kinds: ["down"],
  mean_interval_secs: 5,
  mean_repair_secs: 3,
  count: 5,
  from_secs: 5,
};

export const schedulesOf = (draft: Draft): JsonObject[] =>
  Array.isArray(draft.fault_schedules) ? draft.fault_schedules.filter(isObject) : [];

export const withSchedules = (draft: Draft, schedules: readonly JsonObject[]): Draft =>
  setIn(draft, "fault_schedules", schedules.length > 0 ? [...schedules] : undefined);

interface NumberOf {
  name: string;
  label: string;
  unit?: string;
  placeholder?: string;
  optional?: boolean;
  integer?: boolean;
  min: number;
  max?: number;
}

const NUMBERS: readonly NumberOf[] = [
  { name: "mean_interval_secs", label: "Mean interval", unit: "s", min: 0.1 },
  {
    name: "mean_repair_secs",
    label: "Mean time to repair",
    unit: "s",
    placeholder: "never",
    optional: true,
    min: 0.1,
  },
  { name: "count", label: "At most", unit: "faults", integer: true, min: 1, max: 100 },
  { name: "from_secs", label: "Not before", unit: "s", placeholder: "0", optional: true, min: 0 },
  { name: "until_secs", label: "Not after", unit: "s", placeholder: "no limit", optional: true, min: 0 },
  {
    name: "seed",
    label: "Seed",
    placeholder: String(DEFAULT_SEED),
    optional: true,
    integer: true,
    min: 0,
  },
];

export function ScheduleFields({
  draft,
  messages,
  realPackets,
  onChange,
}: {
  draft: Draft;
  messages: Messages;
  realPackets: boolean;
  onChange: (draft: Draft) => void;
}) {
  const all = schedulesOf(draft);
  const set = (next: JsonObject[]) => onChange(withSchedules(draft, next));
  return (
    <>
      {all.map((schedule, at) => (
        <OneSchedule
          key={at}
          number={at + 1}
          schedule={schedule}
          messages={messages}
          realPackets={realPackets}
          onChange={(next) => set(all.map((old, place) => (place === at ? next : old)))}
          onRemove={() => set(all.filter((_, place) => place !== at))}
        />
      ))}
      {messages.get("fault_schedules") && <p className={styles.message}>{messages.get("fault_schedules")}</p>}
      {all.length < MOST && (
        <Button small look="quiet" icon="plus" onClick={() => set([...all, NEW])}>
          Add random faults
        </Button>
      )}
    </>
  );
}

function OneSchedule({
  number,
  schedule,
  messages,
  realPackets,
  onChange,
  onRemove,
}: {
  number: number;
  schedule: JsonObject;
  messages: Messages;
  realPackets: boolean;
  onChange: (schedule: JsonObject) => void;
  onRemove: () => void;
}) {
  const path = `fault_schedules.${number - 1}`;
  const change = (field: string, value: Json | undefined) => {
    const { [field]: _, ...rest } = schedule;
    onChange(value === undefined ? rest : { ...rest, [field]: value });
  };
  const chosen = Array.isArray(schedule.kinds) ? schedule.kinds.map(String) : [];
  const known = kindsOf(realPackets);
  return (
    <fieldset className={styles.fault}>
      <legend className="visually-hidden">{`Random faults ${number}`}</legend>
      <div className={styles.faultRow}>
        <span className={styles.grow}>Random faults</span>
        <IconButton small icon="close" label={`Remove random faults ${number}`} onClick={onRemove} />
      </div>
      <details className={styles.faultKinds}>
        <summary>
          {chosen.length === 0
            ? "No types chosen"
            : chosen.map((kind) => known.find((item) => item.kind === kind)?.title ?? kind).join(", ")}
        </summary>
        {known.map(({ kind, title }) => (
          <label key={kind} className={styles.check}>
            <input
              type="checkbox"
              checked={chosen.includes(kind)}
              onChange={(event) =>
                change(
                  "kinds",
                  known
                    .map((item) => item.kind)
                    .filter((item) => (item === kind ? event.target.checked : chosen.includes(item))),
                )
              }
            />
            {title}
          </label>
        ))}
      </details>
      {messageAt(messages, `${path}.kinds`) && (
        <p className={styles.message}>{messageAt(messages, `${path}.kinds`)}</p>
      )}
      {NUMBERS.map(({ name, label, ...rest }) => (
        <Field key={name} label={label} controlWidth={120} message={messageAt(messages, `${path}.${name}`)}>
          {({ id, describedBy }) => (
            <NumberInput
              id={id}
              describedBy={describedBy}
              value={typeof schedule[name] === "number" ? schedule[name] : null}
              onChange={(value) => change(name, value ?? undefined)}
              {...rest}
            />
          )}
        </Field>
      ))}
    </fieldset>
  );
}
