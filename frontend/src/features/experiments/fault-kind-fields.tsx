import { faultKind, kindOptions, kindsOf, parameterNames } from "@/shared/faults/fault-kinds";
import { type JsonObject, setIn } from "@/shared/plans/spec";
import { useMachine } from "@/shared/server/use-machine";
import { NumberInput, Select } from "@/ui/form";
import own from "./emulation-section.module.css";
import styles from "./experiments.module.css";

/** The kind of fault with its parameter, and for an emulation whether it repeats. */
export function FaultKindFields({
  number,
  fault,
  realPackets,
  onChange,
}: {
  number: number;
  fault: JsonObject;
  /** An emulation supports more kinds of faults than the flow engine. */
  realPackets: boolean;
  onChange: (fault: JsonObject) => void;
}) {
  const machine = useMachine().data;
  const form = faultKind(fault.kind);
  const label = (what: string) => `Fault ${number}, ${what}`;
  const changeKind = (kind: string) => {
    const numbers = parameterNames();
    const rest = Object.fromEntries(Object.entries(fault).filter(([name]) => !numbers.has(name)));
    const needed = faultKind(kind).parameters.map(({ name, otherwise, factor }) => [
      name,
      otherwise * factor,
    ]);
    onChange({ ...rest, kind, ...Object.fromEntries(needed) });
  };
  return (
    <>
      <div className={styles.faultRow}>
        <span>by</span>
        <span className={own.wide}>
          <Select
            aria-label={label("type")}
            value={form.kind}
            options={kindOptions(kindsOf(realPackets), realPackets ? machine?.missing_kinds : [])}
            onChange={changeKind}
          />
        </span>
        {form.parameters.map(({ name, label: title, factor, minimum, maximum, unit }) => {
          const amount = fault[name];
          return (
            <span key={name} className={own.amount}>
              <NumberInput
                aria-label={label(title.toLowerCase())}
                value={typeof amount === "number" ? Number((amount / factor).toPrecision(12)) : null}
                onChange={(typed) =>
                  onChange(
                    setIn(fault, name, typed === null ? undefined : Number((typed * factor).toPrecision(12))),
                  )
                }
                min={minimum}
                max={maximum}
                unit={unit}
              />
            </span>
          );
        })}
      </div>
      {realPackets && (
        <div className={styles.faultRow}>
          <span>repeat every</span>
          <NumberInput
            aria-label={label("repeat interval in seconds")}
            value={typeof fault.flap_secs === "number" ? fault.flap_secs : null}
            onChange={(secs) => onChange(setIn(fault, "flap_secs", secs ?? undefined))}
            optional
            min={0}
            unit="s"
            placeholder="never"
          />
        </div>
      )}
    </>
  );
}
