/** A slice of a plan that is too large to run whole, as it was taken. */
import { isObject } from "@/shared/plans/spec";
import { Button } from "@/ui/button";
import { Field, NumberInput, TextInput } from "@/ui/form";
import type { Draft } from "./draft";
import styles from "./emulation-section.module.css";
import { emulationOf, withEmulation } from "./engine";
import { type Messages, messageAt } from "./messages";

export function SliceFields({
  draft,
  messages,
  onChange,
}: {
  draft: Draft;
  messages: Messages;
  onChange: (draft: Draft) => void;
}) {
  const { slice } = emulationOf(draft);
  const message = messageAt(messages, "emulation.slice");
  if (!isObject(slice) || Array.isArray(slice.servers)) return null;
  return (
    <fieldset className={styles.slice}>
      <legend>Slice of the plan</legend>
      <Field label="Around server" controlWidth={120} message={message}>
        {({ id, describedBy }) => (
          <TextInput
            id={id}
            aria-describedby={describedBy}
            value={String(slice.within ?? "")}
            onChange={(event) =>
              onChange(withEmulation(draft, "slice.within", event.target.value || undefined))
            }
          />
        )}
      </Field>
      <Field label="Slice size (k)" controlWidth={120}>
        {({ id }) => (
          <NumberInput
            id={id}
            value={typeof slice.k === "number" ? slice.k : null}
            onChange={(k) => onChange(withEmulation(draft, "slice.k", k ?? undefined))}
            optional
            integer
            min={0}
            max={3}
            placeholder="1"
          />
        )}
      </Field>
      <Button
        small
        look="quiet"
        icon="close"
        onClick={() => onChange(withEmulation(draft, "slice", undefined))}
      >
        Run the whole plan
      </Button>
    </fieldset>
  );
}
