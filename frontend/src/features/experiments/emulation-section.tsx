/** How real packets are sent: where servers live, at what rate and for how long, what is expected of them. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, take } from "@/api/client";
import { Field, NumberInput, Section, Select } from "@/ui/form";
import { isObject, type Json } from "../shared/spec";
import type { Draft } from "./draft";
import styles from "./emulation-section.module.css";
import { DEFAULT_LINK_GBPS, emulationOf, withEmulation } from "./engine";
import { HypothesisSection } from "./hypothesis-section";
import { MachineBanner } from "./machine-banner";
import { type Messages, messageAt } from "./messages";
import { SliceFields } from "./slice-fields";

interface NumberField {
  path: string;
  label: string;
  unit?: string;
  otherwise: string;
  /** What is typed times this is what is sent. */
  factor?: number;
  integer?: boolean;
}

const TIMES: readonly NumberField[] = [
  { path: "seconds", label: "Measured for", unit: "s", otherwise: "30" },
  { path: "settle_secs", label: "After settling for", unit: "s", otherwise: "3" },
];

const FINE: readonly NumberField[] = [
  { path: "mtu", label: "MTU of the ports", unit: "B", otherwise: "by the rate", integer: true },
  { path: "calibrate_secs", label: "A pair alone, first, for", unit: "s", otherwise: "2" },
  { path: "connections", label: "Connections a flow", otherwise: "1", integer: true },
  {
    path: "flow_bits_per_sec",
    label: "A flow sends at most",
    unit: "Mb/s",
    otherwise: "all it can",
    factor: 1e6,
  },
  { path: "timers.hello_secs", label: "Hello every", unit: "s", otherwise: "1" },
  { path: "timers.dead_after", label: "Dead after lost hellos", otherwise: "3", integer: true },
  { path: "timers.adapt_secs", label: "Look for better paths every", unit: "s", otherwise: "10" },
];

export function EmulationSection({
  draft,
  messages,
  error,
  set,
  onChange,
}: {
  draft: Draft;
  messages: Messages;
  /** Why the server refuses the draft, if it does. */
  error: unknown;
  set: (path: string, value: Json | undefined) => void;
  onChange: (draft: Draft) => void;
}) {
  const machine = useQuery({
    queryKey: ["emulation"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/emulation", { signal })),
    staleTime: 10_000,
  });
  const settings = emulationOf(draft);
  const change = (path: string, value: Json | undefined) => onChange(withEmulation(draft, path, value));
  const { modes } = machine.data ?? {};
  const only = modes?.length === 1 ? modes[0] : undefined;
  // A machine that can do one thing is asked for that.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the machine's answer is the trigger
  useEffect(() => {
    if (only && settings.mode === undefined && only !== "containers") change("mode", only);
  }, [only, settings.mode]);
  const number = ({ path, label, unit, otherwise, factor = 1, integer }: NumberField) => {
    const value = path
      .split(".")
      .reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), settings);
    return (
      <Field key={path} label={label} controlWidth={120} message={messageAt(messages, `emulation.${path}`)}>
        {({ id, describedBy }) => (
          <NumberInput
            id={id}
            describedBy={describedBy}
            value={typeof value === "number" ? value / factor : null}
            onChange={(typed) => change(path, typed === null ? undefined : typed * factor)}
            optional
            min={0}
            integer={integer}
            unit={unit}
            placeholder={otherwise}
          />
        )}
      </Field>
    );
  };
  const link = typeof draft.link_gbps === "number" ? Number((draft.link_gbps * 1000).toPrecision(9)) : null;
  return (
    <>
      <Section title="Real packets">
        {machine.data && (
          <MachineBanner
            machine={machine.data}
            mode={String(settings.mode ?? "containers")}
            onMode={(mode) => change("mode", mode)}
          />
        )}
        <Field label="Servers are" controlWidth={180} message={messageAt(messages, "emulation.mode")}>
          {({ id, describedBy }) => (
            <Select
              id={id}
              aria-describedby={describedBy}
              value={String(settings.mode ?? "containers")}
              options={(["containers", "namespaces"] as const).map((mode) => ({
                value: mode,
                label: modes && !modes.includes(mode) ? `${mode} (not here)` : mode,
              }))}
              onChange={(mode) => change("mode", mode)}
            />
          )}
        </Field>
        <Field label="They forward" controlWidth={180} message={messageAt(messages, "emulation.dataplane")}>
          {({ id, describedBy }) => (
            <Select
              id={id}
              aria-describedby={describedBy}
              value={String(settings.dataplane ?? "kernel")}
              options={[
                { value: "kernel", label: "in the kernel (eBPF)" },
                { value: "software", label: "in user space" },
              ]}
              onChange={(dataplane) => change("dataplane", dataplane === "kernel" ? undefined : dataplane)}
            />
          )}
        </Field>
        <Field label="Every link’s rate" controlWidth={120} message={messageAt(messages, "link_gbps")}>
          {({ id, describedBy }) => (
            <NumberInput
              id={id}
              describedBy={describedBy}
              value={link}
              onChange={(typed) => set("link_gbps", typed === null ? undefined : typed / 1000)}
              optional
              min={0}
              unit="Mb/s"
              placeholder={String(DEFAULT_LINK_GBPS * 1000)}
            />
          )}
        </Field>
        {TIMES.map(number)}
        <SliceFields draft={draft} messages={messages} error={error} onChange={onChange} />
        <details className={styles.fine}>
          <summary>Protocol, MTU and timers</summary>
          <Field label="Flows are" controlWidth={120} message={messageAt(messages, "emulation.protocol")}>
            {({ id, describedBy }) => (
              <Select
                id={id}
                aria-describedby={describedBy}
                value={String(settings.protocol ?? "tcp")}
                options={[
                  { value: "tcp", label: "TCP" },
                  { value: "udp", label: "UDP" },
                ]}
                onChange={(protocol) => change("protocol", protocol === "tcp" ? undefined : protocol)}
              />
            )}
          </Field>
          <Field label="To several" controlWidth={180} message={messageAt(messages, "emulation.delivery")}>
            {({ id, describedBy }) => (
              <Select
                id={id}
                aria-describedby={describedBy}
                value={String(settings.delivery ?? "unicast")}
                options={[
                  { value: "unicast", label: "one flow each" },
                  { value: "complete-graph", label: "over a complete graph" },
                  { value: "spanning-trees", label: "over spanning trees" },
                  { value: "pipeline", label: "in a pipeline" },
                ]}
                onChange={(delivery) => change("delivery", delivery === "unicast" ? undefined : delivery)}
              />
            )}
          </Field>
          {FINE.map(number)}
        </details>
      </Section>
      <HypothesisSection draft={draft} messages={messages} onChange={onChange} />
    </>
  );
}
