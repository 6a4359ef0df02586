/** The fields of a fault to inject: target, kind, its parameter, how long and how often. */
import { type FaultKind, faultKind, kindOptions, kindsFor } from "@/shared/faults/fault-kinds";
import { useMachine } from "@/shared/server/use-machine";
import { Button } from "@/ui/button";
import { Field, NumberInput, Select, TextInput } from "@/ui/form";
import { useCalmSession } from "../session/live-session";
import { itemName, type Network } from "../session/network";
import { type BreakDraft, withTarget } from "./break-draft";
import { busyCable } from "./busy-cable";

export function BreakFields({
  network,
  draft,
  onDraft,
}: {
  network: Network;
  draft: BreakDraft;
  onDraft: (draft: BreakDraft) => void;
}) {
  const machine = useMachine().data;
  const tick = useCalmSession().history.at(-1);
  const cable = tick && busyCable(network, tick);
  const strikes = draft.target && draft.target.kind !== "flow" ? draft.target.kind : null;
  const form = faultKind(draft.kind);
  return (
    <>
      <Field label="Target" controlWidth={190}>
        {({ id }) => (
          <TextInput
            id={id}
            value={draft.target ? itemName(network, draft.target) : draft.words}
            placeholder="click in the picture, or 10% of switches"
            onChange={(event) => onDraft({ ...draft, target: null, words: event.target.value })}
          />
        )}
      </Field>
      {draft.target === null && draft.words === "" && cable && (
        <Button small data-guide="inject-cable" onClick={() => onDraft(withTarget(draft, cable))}>
          Choose a cable with traffic
        </Button>
      )}
      <Field label="Fault" controlWidth={190}>
        {({ id }) => (
          <Select
            id={id}
            value={draft.kind}
            options={kindOptions(kindsFor(strikes), machine?.missing_kinds)}
            onChange={(kind) => onDraft({ ...draft, kind: kind as FaultKind, amounts: {} })}
          />
        )}
      </Field>
      <p className="muted tight">{form.detail}</p>
      {form.parameters.map(({ name, label, minimum, maximum, unit, otherwise }) => (
        <Field key={name} label={label} controlWidth={140}>
          {({ id }) => (
            <NumberInput
              id={id}
              value={draft.amounts[name] ?? null}
              onChange={(amount) => onDraft({ ...draft, amounts: { ...draft.amounts, [name]: amount } })}
              optional
              min={minimum}
              max={maximum}
              unit={unit}
              placeholder={String(otherwise)}
            />
          )}
        </Field>
      ))}
      <Field label="Duration" controlWidth={140}>
        {({ id }) => (
          <NumberInput
            id={id}
            value={draft.lastsSecs}
            onChange={(lastsSecs) => onDraft({ ...draft, lastsSecs })}
            optional
            min={0}
            unit="s"
            placeholder="until recovered"
          />
        )}
      </Field>
      <Field label="Repeat every" controlWidth={140}>
        {({ id }) => (
          <NumberInput
            id={id}
            value={draft.flapSecs}
            onChange={(flapSecs) => onDraft({ ...draft, flapSecs })}
            optional
            min={0}
            unit="s"
            placeholder="never"
          />
        )}
      </Field>
    </>
  );
}
