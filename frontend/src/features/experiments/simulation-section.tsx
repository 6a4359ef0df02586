/**
 * The settings of a simulation, as described by the engine. A setting without a value shows its
 * default in the field.
 */
import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import { getIn, type Json, setIn } from "@/shared/plans/spec";
import { Field, NumberInput, Section, Select } from "@/ui/form";
import type { Draft } from "./draft";
import styles from "./experiments.module.css";
import { type Messages, messageAt } from "./messages";

/** These settings are always visible; the others are in a collapsed section. */
const FIRST = [
  "transport",
  "recovery",
  "congestion",
  "subflows",
  "mtu_bytes",
  "queue_bytes",
  "rto_min_secs",
  "hop_delay_secs",
];

export function SimulationSection({
  draft,
  messages,
  onChange,
}: {
  draft: Draft;
  messages: Messages;
  onChange: (draft: Draft) => void;
}) {
  const set = (path: string, value: Json | undefined) => onChange(setIn(draft, path, value) as Draft);
  const engines = useQuery({
    queryKey: ["engines"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/engines", { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const form = engines.data?.items.find(({ name }) => name === "packet")?.form ?? [];
  const field = (setting: (typeof form)[number]) => {
    const path = `packet.${setting.name}`;
    const value = getIn(draft, path);
    return (
      <Field key={setting.name} label={setting.title} controlWidth={160} message={messageAt(messages, path)}>
        {({ id, describedBy }) =>
          setting.choices ? (
            <Select
              id={id}
              aria-describedby={describedBy}
              value={typeof value === "string" ? value : String(setting.default)}
              options={setting.choices.map((choice) => ({ value: choice, label: choice }))}
              onChange={(next) => set(path, next === setting.default ? undefined : next)}
            />
          ) : (
            <NumberInput
              id={id}
              describedBy={describedBy}
              invalid={messageAt(messages, path) !== undefined}
              value={typeof value === "number" ? value : null}
              onChange={(next) => set(path, next ?? undefined)}
              optional
              integer={setting.whole ?? false}
              min={setting.minimum ?? 0}
              max={setting.maximum ?? undefined}
              unit={setting.unit ?? ""}
              placeholder={setting.default === null ? "automatic" : String(setting.default)}
            />
          )
        }
      </Field>
    );
  };
  const heat = getIn(draft, "packet.link_heat");
  const notices = getIn(draft, "packet.congestion_notices") === "qcn";
  const first = FIRST.flatMap((name) => form.filter((setting) => setting.name === name));
  // Settings of QCN are hidden without it.
  const others = form.filter(({ name }) => !FIRST.includes(name) && (notices || !name.startsWith("qcn_")));
  return (
    <Section title="Packets">
      <p className="muted tight">Each flow sends 1 MB, unless a flow size is given.</p>
      {first.map(field)}
      <details>
        <summary>More settings</summary>
        {others.map(field)}
        <label className={styles.check}>
          <input
            type="checkbox"
            checked={getIn(draft, "packet.flow_times") === true}
            onChange={(event) => set("packet.flow_times", event.target.checked || undefined)}
          />
          Each flow’s times, as CSV and Parquet
        </label>
        <label className={styles.check}>
          <input
            type="checkbox"
            checked={heat === undefined ? getIn(draft, "axes") === undefined : heat === true}
            onChange={(event) => set("packet.link_heat", event.target.checked)}
          />
          Utilisation of links in time
        </label>
      </details>
    </Section>
  );
}
