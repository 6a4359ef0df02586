/** The settings of an emulation: location of servers, rates, duration, and hypotheses. */
import { lazy, Suspense, useEffect } from "react";
import type { components } from "@/api/schema";
import { isObject, type Json, type JsonObject } from "@/shared/plans/spec";
import { useMachine } from "@/shared/server/use-machine";
import { Field, NumberInput, Section, Select } from "@/ui/form";
import type { Draft } from "./draft";
import styles from "./emulation-section.module.css";
import { DEFAULT_LINK_GBPS, emulationOf, withEmulation } from "./engine";
import { MachineBanner } from "./machine-banner";
import { type Messages, messageAt } from "./messages";
import { SliceFields } from "./slice-fields";
import { useProfile } from "./use-profile";
import { imagesOf } from "./user-images";
import { servicesOf } from "./user-services";

const ChipProgramField = lazy(() => import("./chip-program-field"));
const UpgradeField = lazy(() => import("./upgrade-field"));
const ServicesField = lazy(() => import("./services-field"));
const ImagesField = lazy(() => import("./images-field"));

type ProtocolOption = components["schemas"]["ProtocolOption"];
type EmulationProfile = components["schemas"]["EmulationProfile"];

interface NumberField {
  path: string;
  label: string;
  unit?: string;
  otherwise: string;
  /** The factor between the typed value and the value that is sent. */
  factor?: number;
  integer?: boolean;
  /** Least and greatest value; without them any value from 0. */
  range?: readonly [least: number, most?: number];
  help?: string;
}

/** The settings of a protocol as fields, from the engine's schema. */
export const fieldsOf = (protocol: ProtocolOption | undefined): NumberField[] =>
  (protocol?.settings ?? []).map(
    ({ name, title, unit, type, minimum, maximum, description, ...setting }) => ({
      path: `timers.${name}`,
      label: title,
      ...(unit && { unit }),
      otherwise: String(setting.default),
      integer: type === "integer",
      range: [minimum, maximum],
      help: description,
    }),
  );

/** A dataplane that can be chosen. */
type Dataplane = Pick<ProtocolOption["forwardings"][number], "name" | "title" | "program">;

/**
 * The dataplanes of a plan, and the protocol that the chosen one runs. Where servers forward
 * nothing, they are what switches are.
 */
export function dataplanesOf(
  profile: EmulationProfile | undefined,
  chosen: unknown,
): { protocol: ProtocolOption | undefined; options: readonly Dataplane[]; ofSwitches: boolean } {
  const own = profile?.protocols.find(({ name }) => name === profile.default_protocol);
  const chips = profile?.protocols.find(({ switch_dataplane }) => switch_dataplane);
  if (!own || own.forwardings.length > 0 || !chips?.switch_dataplane)
    return { protocol: own, options: own?.forwardings ?? [], ofSwitches: false };
  const of = (name: string, { title }: ProtocolOption) => ({ name, title, program: null });
  return {
    protocol: chosen === chips.switch_dataplane ? chips : own,
    options: [of("kernel", own), of(chips.switch_dataplane, chips)],
    ofSwitches: true,
  };
}

/** The balances that routers support, as choices; none if switches are bridges. */
export const balancesOf = (protocol: ProtocolOption | undefined): Choice[] =>
  protocol?.balances.length
    ? [
        {
          path: "balance",
          label: "Spread flows",
          title:
            "Over next hops of equal distance. By link rate, faster links get more flows. By load, a controller in each loop moves flows to ToRs with room.",
          widthPx: 180,
          options: protocol.balances.map(({ name, title }) => ({ value: name, label: title })),
        },
      ]
    : [];

const TIMES: readonly NumberField[] = [
  { path: "seconds", label: "Measure for", unit: "s", otherwise: "30" },
  { path: "settle_secs", label: "Settle for", unit: "s", otherwise: "3" },
];

/** The forwarding whose chips can notify sources of congestion. */
const NOTIFYING = "serverswitch";
const QUEUE_AIM: NumberField = {
  path: "congestion.queue_kb",
  label: "Queue aimed at",
  unit: "KB",
  otherwise: "50",
  range: [3, 8000],
  help: "Q_EQ of QCN: at how many bytes in the queue sources neither slow down nor speed up.",
};

/** Settings that apply to MPTCP only. */
const SUBFLOWS: readonly NumberField[] = [
  {
    path: "subflows",
    label: "Subflows per connection",
    otherwise: "one per pair of ports",
    integer: true,
    range: [1, 9],
    help: "At most nine; four by default where servers have one port.",
  },
];

const FINE: readonly NumberField[] = [
  { path: "mtu", label: "MTU of the ports", unit: "B", otherwise: "automatic", integer: true },
  { path: "calibrate_secs", label: "Calibrate for", unit: "s", otherwise: "2" },
  { path: "connections", label: "Connections per flow", otherwise: "1", integer: true },
  {
    path: "flow_bits_per_sec",
    label: "Rate limit per flow",
    unit: "Mb/s",
    otherwise: "unlimited",
    factor: 1e6,
  },
];

export function EmulationSection({
  draft,
  messages,
  set,
  onChange,
}: {
  draft: Draft;
  messages: Messages;
  set: (path: string, value: Json | undefined) => void;
  onChange: (draft: Draft) => void;
}) {
  const machine = useMachine();
  const profile = useProfile(draft.plan);
  const settings = emulationOf(draft);
  const { protocol, options, ofSwitches } = dataplanesOf(profile, settings.dataplane);
  // A chip sends a flow by one way; routers have one for each subflow.
  const transports = profile?.transports.filter(
    (name) => name !== "mptcp" || protocol?.switches === "routers",
  );
  const change = (path: string, value: Json | undefined) => onChange(withChange(draft, path, value));
  const { modes } = machine.data ?? {};
  const only = modes?.length === 1 ? modes[0] : undefined;
  // If the machine supports only one option, it is selected.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the machine's answer is the trigger
  useEffect(() => {
    if (only && settings.mode === undefined && only !== "containers") change("mode", only);
  }, [only, settings.mode]);
  const fields = { settings, messages, change };
  const link = typeof draft.link_gbps === "number" ? Number((draft.link_gbps * 1000).toPrecision(9)) : null;
  return (
    <Section title="Emulation">
      {machine.data && (
        <MachineBanner
          machine={machine.data}
          mode={String(settings.mode ?? "containers")}
          withImages={imagesOf(draft).length > 0}
          onMode={(mode) => change("mode", mode)}
        />
      )}
      <ModeField modes={modes} fields={fields} />
      <Forwarding
        draft={draft}
        options={options}
        ofSwitches={ofSwitches}
        fields={fields}
        onChange={onChange}
      />
      <Field label="Link rate" controlWidth={120} message={messageAt(messages, "link_gbps")}>
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
      {TIMES.map((field) => (
        <SettingField key={field.path} {...field} {...fields} />
      ))}
      {protocol && (
        <Suspense>
          <UpgradeField draft={draft} messages={messages} onChange={onChange} />
        </Suspense>
      )}
      <SliceFields draft={draft} messages={messages} onChange={onChange} />
      {/* If the plan's servers support no services, earlier choices are still listed, so that they
          can be removed. */}
      {(protocol?.services.length || servicesOf(draft).length > 0) && (
        <Suspense>
          <ServicesField
            draft={draft}
            own={(protocol?.services ?? []).map(({ name }) => name)}
            messages={messages}
            onChange={onChange}
          />
        </Suspense>
      )}
      <Images draft={draft} messages={messages} onChange={onChange} />
      <details className={styles.fine}>
        <summary>Protocol, MTU and timers</summary>
        {[...choicesOf(transports, settings), ...balancesOf(protocol)].map((choice) => (
          <ChoiceField key={choice.path} {...choice} {...fields} />
        ))}
        {[...(settings.protocol === "mptcp" ? SUBFLOWS : []), ...FINE, ...fieldsOf(protocol)].map((field) => (
          <SettingField key={field.path} {...field} {...fields} />
        ))}
      </details>
    </Section>
  );
}

/**
 * Images are for containers; if servers are namespaces, earlier choices are still listed, so that
 * they can be removed.
 */
function Images(props: Pick<Parameters<typeof ImagesField>[0], "draft" | "messages" | "onChange">) {
  const inContainers = (emulationOf(props.draft).mode ?? "containers") === "containers";
  if (!inContainers && imagesOf(props.draft).length === 0) return null;
  return (
    <Suspense>
      <ImagesField {...props} inContainers={inContainers} />
    </Suspense>
  );
}

function ModeField({ modes, fields }: { modes: readonly string[] | undefined; fields: SettingsProps }) {
  const { settings, messages, change } = fields;
  return (
    <Field label="Run servers as" controlWidth={180} message={messageAt(messages, "emulation.mode")}>
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
  );
}

/** Where packets are forwarded and, if there is a choice, by which program. */
function Forwarding({
  draft,
  options,
  ofSwitches,
  fields,
  onChange,
}: {
  draft: Draft;
  options: readonly Dataplane[];
  ofSwitches: boolean;
  fields: SettingsProps;
  onChange: (draft: Draft) => void;
}) {
  const { settings, messages, change } = fields;
  const own = options.find(({ name }) => name === settings.dataplane)?.program;
  if (options.length === 0) return null;
  return (
    <>
      <ChoiceField
        path="dataplane"
        label={ofSwitches ? "Switches" : "Forwarding"}
        widthPx={270}
        options={options.map(({ name, title }) => ({ value: name, label: title }))}
        {...fields}
        change={(path, dataplane) => {
          const chosen = options.find(({ name }) => name === dataplane);
          const changed = withEmulation(draft, path, dataplane);
          // A program is for chips only, and only chips in the kernel notify sources of their
          // queues.
          const fitting = chosen?.program ? changed : withEmulation(changed, "chip_program", undefined);
          const notifies = dataplane === NOTIFYING && !ofSwitches;
          onChange(notifies ? fitting : withEmulation(fitting, "congestion", undefined));
        }}
      />
      {own && (
        <Suspense>
          <ChipProgramField
            plan={draft.plan}
            own={own}
            program={typeof settings.chip_program === "string" ? settings.chip_program : undefined}
            message={messageAt(messages, "emulation.chip_program")}
            onProgram={(program) => change("chip_program", program)}
          />
        </Suspense>
      )}
      {settings.dataplane === NOTIFYING && !ofSwitches && (
        <CongestionFields draft={draft} fields={fields} onChange={onChange} />
      )}
    </>
  );
}

/** Whether queues notify sources of congestion, and their target length. */
function CongestionFields({
  draft,
  fields,
  onChange,
}: {
  draft: Draft;
  fields: SettingsProps;
  onChange: (draft: Draft) => void;
}) {
  const { congestion } = fields.settings;
  const value = !isObject(congestion) ? "none" : congestion.answers === false ? "silent" : "qcn";
  return (
    <>
      <Field
        label="Congestion notices"
        title="The CPU of a chip reads the queue that a marked packet joined, and tells the packet's source how much to slow down."
        controlWidth={270}
        message={messageAt(fields.messages, "emulation.congestion")}
      >
        {({ id, describedBy }) => (
          <Select
            id={id}
            aria-describedby={describedBy}
            value={value}
            options={[
              { value: "none", label: "none" },
              { value: "qcn", label: "QCN: sources slow down" },
              { value: "silent", label: "QCN, not answered: queues fill" },
            ]}
            onChange={(chosen) => {
              const kept = isObject(congestion) ? { ...congestion, answers: undefined } : {};
              const notices =
                chosen === "none" ? undefined : chosen === "silent" ? { ...kept, answers: false } : kept;
              // Notifications watch a single queue for all flows.
              const shared = notices ? withEmulation(draft, "queues", undefined) : draft;
              onChange(withEmulation(shared, "congestion", notices as Json | undefined));
            }}
          />
        )}
      </Field>
      {isObject(congestion) && <SettingField {...QUEUE_AIM} {...fields} />}
    </>
  );
}

/** The properties of every field of the emulation's settings. */
interface SettingsProps {
  settings: JsonObject;
  messages: Messages;
  change: (path: string, value: Json | undefined) => void;
}

interface Choice {
  path: string;
  label: string;
  title?: string;
  widthPx: number;
  /** The first option is the default. */
  options: { value: string; label: string }[];
}

const CHOICES: readonly Choice[] = [
  {
    path: "protocol",
    label: "Transport",
    widthPx: 130,
    options: [
      { value: "tcp", label: "TCP" },
      { value: "udp", label: "UDP" },
      { value: "mptcp", label: "MPTCP" },
    ],
    title:
      "MPTCP: where switches are routers, connections take several paths at once. Uncoupled: the kernel has no LIA.",
  },
  {
    path: "delivery",
    label: "One-to-many",
    widthPx: 180,
    options: [
      { value: "unicast", label: "separate flows" },
      { value: "complete-graph", label: "over a complete graph" },
      { value: "spanning-trees", label: "over spanning trees" },
      { value: "pipeline", label: "in a pipeline" },
    ],
  },
  {
    path: "queues",
    label: "Queues at link ends",
    title: "Fair queues give the slowest flow its share; switches usually have one queue for all.",
    widthPx: 180,
    options: [
      { value: "shared", label: "one for all flows" },
      { value: "fair", label: "one per flow (fair)" },
    ],
  },
];

/**
 * The draft with a changed setting; only MPTCP has subflows, and fair queues send no congestion
 * notifications.
 */
function withChange(draft: Draft, path: string, value: Json | undefined): Draft {
  const changed = withEmulation(draft, path, value);
  if (path === "queues" && value === "fair") return withEmulation(changed, "congestion", undefined);
  return path === "protocol" ? withEmulation(changed, "subflows", undefined) : changed;
}

/** Transports that the plan cannot have are left out, unless one is chosen already. */
function choicesOf(transports: readonly string[] | undefined, settings: JsonObject): Choice[] {
  const fits = (value: string) =>
    value === settings.protocol || (transports ?? ["tcp", "udp"]).includes(value);
  return CHOICES.map((choice) =>
    choice.path === "protocol"
      ? { ...choice, options: choice.options.filter(({ value }) => fits(value)) }
      : choice,
  );
}

function ChoiceField({
  path,
  label,
  title,
  widthPx,
  options,
  settings,
  messages,
  change,
}: Choice & SettingsProps) {
  const otherwise = options[0]!.value;
  return (
    <Field
      label={label}
      title={title}
      controlWidth={widthPx}
      message={messageAt(messages, `emulation.${path}`)}
    >
      {({ id, describedBy }) => (
        <Select
          id={id}
          aria-describedby={describedBy}
          value={String(settings[path] ?? otherwise)}
          options={options}
          onChange={(value) => change(path, value === otherwise ? undefined : value)}
        />
      )}
    </Field>
  );
}

function SettingField({
  path,
  label,
  unit,
  otherwise,
  factor = 1,
  integer,
  range = [0],
  help,
  settings,
  messages,
  change,
}: NumberField & SettingsProps) {
  const value = path
    .split(".")
    .reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), settings);
  return (
    <Field label={label} controlWidth={120} title={help} message={messageAt(messages, `emulation.${path}`)}>
      {({ id, describedBy }) => (
        <NumberInput
          id={id}
          describedBy={describedBy}
          value={typeof value === "number" ? value / factor : null}
          onChange={(typed) => change(path, typed === null ? undefined : typed * factor)}
          optional
          min={range[0]}
          max={range[1]}
          integer={integer}
          unit={unit}
          placeholder={otherwise}
        />
      )}
    </Field>
  );
}
