import { NumberInput, Select } from "@/ui/form";
import { faultKind, kindsOf } from "../shared/fault-kinds";
import { type JsonObject, setIn } from "../shared/spec";
import own from "./emulation-section.module.css";
import styles from "./experiments.module.css";

/** How it breaks, with the number that some kinds need; and with real packets, whether it comes and goes. */
export function FaultKindFields({
  number,
  fault,
  realPackets,
  onChange,
}: {
  number: number;
  fault: JsonObject;
  /** They know more ways to break than the engine. */
  realPackets: boolean;
  onChange: (fault: JsonObject) => void;
}) {
  const form = faultKind(fault.kind);
  const { parameter } = form;
  const label = (what: string) => `Fault ${number}, ${what}`;
  const amount = parameter ? fault[parameter.name] : undefined;
  const changeKind = (kind: string) => {
    const { rate_bits_per_sec: _, loss_ratio: __, delay_secs: ___, ...rest } = fault;
    const needs = faultKind(kind).parameter;
    onChange({
      ...rest,
      kind,
      ...(needs && { [needs.name]: needs.otherwise * needs.factor }),
    });
  };
  return (
    <>
      <div className={styles.faultRow}>
        <span>by</span>
        <span className={own.wide}>
          <Select
            aria-label={label("how it breaks")}
            value={form.kind}
            options={kindsOf(realPackets).map(({ kind, title }) => ({ value: kind, label: title }))}
            onChange={changeKind}
          />
        </span>
        {parameter && (
          <span className={own.amount}>
            <NumberInput
              aria-label={label(parameter.label.toLowerCase())}
              value={typeof amount === "number" ? Number((amount / parameter.factor).toPrecision(12)) : null}
              onChange={(typed) =>
                onChange(
                  setIn(
                    fault,
                    parameter.name,
                    typed === null ? undefined : Number((typed * parameter.factor).toPrecision(12)),
                  ),
                )
              }
              min={0}
              unit={parameter.unit}
            />
          </span>
        )}
      </div>
      {realPackets && (
        <div className={styles.faultRow}>
          <span>on and off every</span>
          <NumberInput
            aria-label={label("on and off every so many seconds")}
            value={typeof fault.flap_secs === "number" ? fault.flap_secs : null}
            onChange={(secs) => onChange(setIn(fault, "flap_secs", secs ?? undefined))}
            optional
            min={0}
            unit="s"
            placeholder="does not flap"
          />
        </div>
      )}
    </>
  );
}
