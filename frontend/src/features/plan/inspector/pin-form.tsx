import { useCallback, useMemo, useState } from "react";
import type { PlanModel } from "@/scene/model";
import { getIn, type Json, type JsonObject, setIn } from "@/shared/plans/spec";
import { type Command, useCommands } from "@/shared/shell/commands";
import { Button } from "@/ui/button";
import { NumberInput, Select } from "@/ui/form";
import { usePlan } from "../state/store";
import styles from "./pin-form.module.css";

/**
 * Puts one device into another rack and unit, or one rack somewhere else on the floor: typed, so no
 * drag is needed.
 */
export function PinForm({ model, device, rack }: { model: PlanModel; device?: number; rack: number }) {
  const [open, setOpen] = useState(false);
  const spec = usePlan((state) => state.history.present);
  const replace = usePlan((state) => state.replace);
  const pins = (getIn(spec, "packaging.pins") as JsonObject[] | undefined) ?? [];
  const rackName = model.racks.names[rack]!;
  const name = device === undefined ? null : model.devices.names[device]!;
  const isThis = (pin: JsonObject) =>
    name === null ? !pin.device && pin.rack === rackName : pin.device === name;
  const pinned = pins.find(isThis);
  const [target, setTarget] = useState(rackName);
  const [a, setA] = useState<number | null>(null);
  const [b, setB] = useState<number | null>(null);
  const write = (pin: JsonObject | null) => {
    const rest = pins.filter((other) => !isThis(other));
    const next = pin ? [...rest, pin] : rest;
    replace(setIn(spec, "packaging.pins", next.length > 0 ? (next as Json) : undefined), "pin");
    setOpen(false);
  };
  const begin = useCallback(() => {
    setTarget(rackName);
    setA(name === null ? Number(model.racks.x[rack]!.toFixed(2)) : model.devices.unit[device!]!);
    setB(name === null ? Number(model.racks.y[rack]!.toFixed(2)) : null);
    setOpen(true);
  }, [model, rack, rackName, name, device]);
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "pin",
        title: `Move and pin ${name ?? rackName}`,
        group: "Edit",
        icon: "pin",
        keys: "p",
        run: begin,
      },
    ],
    [begin, name, rackName],
  );
  useCommands("pin", commands);
  if (!open)
    return (
      <div className={styles.actions}>
        <Button small icon="pin" onClick={begin}>
          {pinned ? "Move pin" : "Move and pin"}
        </Button>
        {pinned && (
          <Button small look="quiet" onClick={() => write(null)}>
            Unpin
          </Button>
        )}
      </div>
    );
  return (
    <form
      className={styles.actions}
      onSubmit={(event) => {
        event.preventDefault();
        if (name === null) write({ rack: rackName, x_metres: a ?? 0, y_metres: b ?? 0 });
        else write({ device: name, rack: target, ...(a !== null && { unit: a }) });
      }}
    >
      {name === null ? (
        <>
          <span style={{ width: 88 }}>
            <NumberInput aria-label="x in metres" value={a} onChange={setA} unit="x m" step={0.1} />
          </span>
          <span style={{ width: 88 }}>
            <NumberInput aria-label="y in metres" value={b} onChange={setB} unit="y m" step={0.1} />
          </span>
        </>
      ) : (
        <>
          <Select
            aria-label="Rack"
            width={90}
            value={target}
            options={model.racks.names.map((r) => ({ value: r, label: r }))}
            onChange={setTarget}
          />
          <span style={{ width: 72 }}>
            <NumberInput aria-label="Unit" value={a} onChange={setA} integer optional unit="U" min={1} />
          </span>
        </>
      )}
      <Button small look="primary" type="submit">
        Pin
      </Button>
      <Button small look="quiet" onClick={() => setOpen(false)}>
        Cancel
      </Button>
    </form>
  );
}
