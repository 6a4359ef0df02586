/** How real packets are sent: where servers live, at what rate and for how long, what is expected of them. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { ApiError, api, take } from "@/api/client";
import type { components } from "@/api/schema";
import { Button } from "@/ui/button";
import { Field, NumberInput, Section, Select, TextInput } from "@/ui/form";
import { Icon } from "@/ui/icon";
import { formatBytes, plural } from "@/units";
import { isObject, type Json, mergePatch } from "../shared/spec";
import type { Draft } from "./draft";
import styles from "./emulation-section.module.css";
import { DEFAULT_LINK_GBPS, emulationOf, withEmulation } from "./engine";
import { type Messages, messageAt } from "./messages";

type Machine = components["schemas"]["Machine"];
type Metric = components["schemas"]["Hypothesis"]["metric"];

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
  { path: "mtu", label: "MTU of the ports", unit: "B", otherwise: "9000", integer: true },
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

const METRICS: Record<
  Metric,
  { label: string; unit: string; factor: number; bound: number; most?: boolean }
> = {
  "goodput-share": { label: "Goodput, of before", unit: "%", factor: 0.01, bound: 0.6 },
  "abt-share": { label: "ABT, of before", unit: "%", factor: 0.01, bound: 0.6 },
  goodput: { label: "Goodput", unit: "Mb/s", factor: 1e6, bound: 1e9 },
  abt: { label: "ABT", unit: "Mb/s", factor: 1e6, bound: 1e9 },
  "stalled-flows": { label: "Stalled flows", unit: "flows", factor: 1, bound: 0, most: true },
};

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
          <MachineBanner machine={machine.data} mode={String(settings.mode ?? "containers")} />
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

/** What this machine lacks, with the reason and what to do about it. */
function MachineBanner({ machine, mode }: { machine: Machine; mode: string }) {
  const usable = machine.modes.some((one) => one === mode);
  const lacking = machine.capabilities.filter(({ available }) => !available);
  return (
    <div className={styles.banner} data-ready={usable || undefined} data-testid="machine">
      <p>
        <Icon name={usable ? "check" : "warning"} size={14} />
        {usable
          ? `This machine runs up to ${plural(machine.max_servers, "server")}: ${plural(machine.cores, "core")}, ${formatBytes(machine.memory_free_bytes)} free.`
          : machine.ready
            ? `This machine cannot run servers as ${mode}.`
            : "This machine cannot send real packets yet."}
      </p>
      {lacking.length > 0 && (
        <details open={!usable}>
          <summary>{`${plural(lacking.length, "thing")} not there`}</summary>
          <ul>
            {lacking.map(({ name, title, reason, fix, needed }) => (
              <li key={name}>
                <strong>{title}</strong>
                {needed ? " (needed). " : ". "}
                {reason} {fix && <em>{fix}</em>}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

/** A part of a plan that is too large to run whole; offered when the server says so. */
function SliceFields({
  draft,
  messages,
  error,
  onChange,
}: {
  draft: Draft;
  messages: Messages;
  error: unknown;
  onChange: (draft: Draft) => void;
}) {
  const { slice } = emulationOf(draft);
  const offer =
    error instanceof ApiError
      ? error.findings.find(({ code }) => code === "too-large-emulation")?.fix
      : undefined;
  const message = messageAt(messages, "emulation.slice");
  if (!isObject(slice))
    return offer ? (
      <div className={styles.offer} role="status">
        <p>{message ?? "The plan is too large for this machine."}</p>
        <Button small icon="wand" onClick={() => onChange(mergePatch(draft, offer as Json) as Draft)}>
          Take a slice of it
        </Button>
      </div>
    ) : null;
  return (
    <fieldset className={styles.slice}>
      <legend>A slice of the plan</legend>
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
      <Field label="The smaller BCube’s k" controlWidth={120}>
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

function HypothesisSection({
  draft,
  messages,
  onChange,
}: {
  draft: Draft;
  messages: Messages;
  onChange: (draft: Draft) => void;
}) {
  const { hypothesis } = emulationOf(draft);
  const stated = isObject(hypothesis) ? hypothesis : null;
  const change = (path: string, value: Json | undefined) =>
    onChange(withEmulation(draft, `hypothesis.${path}`, value));
  const metric = METRICS[(stated?.metric as Metric | undefined) ?? "goodput-share"];
  return (
    <Section title="Hypothesis">
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={stated !== null}
          onChange={(event) =>
            onChange(
              withEmulation(
                draft,
                "hypothesis",
                event.target.checked ? { metric: "goodput-share", bound: 0.6, abort: false } : undefined,
              ),
            )
          }
        />
        The run is to say whether something held
      </label>
      {stated && (
        <>
          <Field label="What" controlWidth={180} message={messageAt(messages, "emulation.hypothesis.metric")}>
            {({ id }) => (
              <Select
                id={id}
                value={String(stated.metric ?? "goodput-share")}
                options={Object.entries(METRICS).map(([value, { label }]) => ({ value, label }))}
                onChange={(next) =>
                  onChange(
                    withEmulation(draft, "hypothesis", {
                      ...stated,
                      metric: next,
                      bound: METRICS[next as Metric].bound,
                    }),
                  )
                }
              />
            )}
          </Field>
          <Field
            label={metric.most ? "Stays at most" : "Stays at least"}
            controlWidth={120}
            message={messageAt(messages, "emulation.hypothesis.bound")}
          >
            {({ id, describedBy }) => (
              <NumberInput
                id={id}
                describedBy={describedBy}
                value={
                  typeof stated.bound === "number"
                    ? Number((stated.bound / metric.factor).toPrecision(9))
                    : null
                }
                onChange={(bound) =>
                  change("bound", bound === null ? 0 : Number((bound * metric.factor).toPrecision(9)))
                }
                min={0}
                unit={metric.unit}
              />
            )}
          </Field>
          <Field
            label="Or is back within"
            controlWidth={120}
            message={messageAt(messages, "emulation.hypothesis.for_secs")}
          >
            {({ id, describedBy }) => (
              <NumberInput
                id={id}
                describedBy={describedBy}
                value={typeof stated.for_secs === "number" ? stated.for_secs : null}
                onChange={(secs) => change("for_secs", secs ?? undefined)}
                optional
                min={0.1}
                unit="s"
                placeholder="2"
              />
            )}
          </Field>
          <label className={styles.check}>
            <input
              type="checkbox"
              checked={stated.abort !== false}
              onChange={(event) => change("abort", event.target.checked)}
            />
            Abort the run once it is broken
          </label>
        </>
      )}
    </Section>
  );
}
