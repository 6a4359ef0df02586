import { useRef, useState } from "react";
import { getIn, type Json, type JsonObject } from "@/shared/plans/spec";
import { textOf } from "@/ui/file-text";
import { Field, NumberInput, Section, Select, TextInput, textAreaClass } from "@/ui/form";
import { useFileDrop } from "@/ui/use-file-drop";
import { type Draft, readNames } from "./draft";
import styles from "./experiments.module.css";
import { matrixText, readMatrix } from "./matrix-text";
import { type Messages, messageAt } from "./messages";
import { ReadInput } from "./texts";
import { WORKLOADS, type WorkloadField, workloadForm } from "./workloads";

export interface Routing {
  name: string;
  summary: string;
}

/** The senders and receivers, the sizes of flows, and their paths. */
export function TrafficSection({
  draft,
  routings,
  messages,
  realPackets,
  set,
}: {
  draft: Draft;
  /** The schemes that serve every plan of the draft. */
  routings: readonly Routing[];
  messages: Messages;
  /** For an emulation, the sizes of flows and the rates of links are among its other settings. */
  realPackets: boolean;
  set: (path: string, value: Json | undefined) => void;
}) {
  const form = workloadForm(draft.workload.kind);
  const routing = typeof draft.routing === "string" ? draft.routing : "";
  const described = routings.find(({ name }) => name === routing)?.summary;
  const own = ["workload", "workload.kind", "workload.bytes"].map((at) => messages.get(at)).find(Boolean);
  return (
    <>
      <Section title="Traffic">
        <Field label="Workload" controlWidth={180} message={own}>
          {({ id, describedBy }) => (
            <Select
              id={id}
              aria-describedby={describedBy}
              value={form.kind}
              options={WORKLOADS.map(({ kind, title }) => ({ value: kind, label: title }))}
              // Another kind takes other parameters.
              onChange={(kind) => set("workload", { kind })}
            />
          )}
        </Field>
        <p className="muted tight">{form.detail}</p>
        {form.fields.map((field) => (
          <WorkloadInput
            key={`${form.kind} ${field.name}`}
            field={field}
            workload={draft.workload}
            message={messageAt(messages, `workload.${field.name}`)}
            onChange={(value) => set(`workload.${field.name}`, value)}
          />
        ))}
        {!realPackets && (
          <Field label="Flow size" controlWidth={120} message={messageAt(messages, "flow_gigabits")}>
            {({ id, describedBy }) => (
              <NumberInput
                id={id}
                describedBy={describedBy}
                value={numberOf(draft.flow_gigabits)}
                onChange={(value) => set("flow_gigabits", value ?? undefined)}
                optional
                min={0}
                unit="Gb"
                placeholder={draft.engine === "packet" ? "0.008" : "unlimited"}
              />
            )}
          </Field>
        )}
      </Section>
      <Section title="Routing">
        <Field label="Scheme" controlWidth={180} message={messageAt(messages, "routing")}>
          {({ id, describedBy }) => (
            <Select
              id={id}
              aria-describedby={describedBy}
              value={routing}
              options={[
                { value: "", label: "Default for each topology" },
                ...routings.map(({ name }) => ({ value: name, label: name })),
                ...(routing && !routings.some(({ name }) => name === routing)
                  ? [{ value: routing, label: `${routing} (not available for every plan)` }]
                  : []),
              ]}
              onChange={(name) => set("routing", name || undefined)}
            />
          )}
        </Field>
        {described && <p className="muted tight">{described}</p>}
        {!realPackets && (
          <Field label="Link rate" controlWidth={120} message={messageAt(messages, "link_gbps")}>
            {({ id, describedBy }) => (
              <NumberInput
                id={id}
                describedBy={describedBy}
                value={numberOf(draft.link_gbps)}
                onChange={(value) => set("link_gbps", value ?? undefined)}
                optional
                min={0}
                unit="Gb/s"
                placeholder="as planned"
              />
            )}
          </Field>
        )}
      </Section>
    </>
  );
}

const numberOf = (value: Json | undefined) => (typeof value === "number" ? value : null);

function WorkloadInput({
  field,
  workload,
  message,
  onChange,
}: {
  field: WorkloadField;
  workload: JsonObject;
  message: string | undefined;
  onChange: (value: Json | undefined) => void;
}) {
  const value = getIn(workload, field.name);
  if (field.kind === "matrix") return <MatrixInput value={value} message={message} onChange={onChange} />;
  return (
    <Field label={field.label} controlWidth={180} message={message}>
      {({ id, describedBy }) =>
        field.kind === "count" || field.kind === "number" ? (
          <NumberInput
            id={id}
            describedBy={describedBy}
            invalid={message !== undefined}
            value={numberOf(value)}
            onChange={(next) => onChange(next ?? undefined)}
            optional
            integer={field.kind === "count"}
            min={field.kind === "count" ? 1 : 0}
            placeholder={field.otherwise}
          />
        ) : field.kind === "name" ? (
          <TextInput
            id={id}
            aria-describedby={describedBy}
            aria-invalid={message !== undefined || undefined}
            value={typeof value === "string" ? value : ""}
            placeholder={field.otherwise}
            onChange={(event) => onChange(event.target.value || undefined)}
          />
        ) : (
          <ReadInput<string[]>
            id={id}
            aria-describedby={describedBy}
            invalid={message !== undefined}
            value={Array.isArray(value) ? (value as string[]) : []}
            text={(names) => names.join(" ")}
            read={readNames}
            placeholder={field.otherwise}
            onChange={(names) => onChange(names.length > 0 ? names : undefined)}
          />
        )
      }
    </Field>
  );
}

/** A matrix is typed, pasted or read from a file; an error names its line. */
function MatrixInput({
  value,
  message,
  onChange,
}: {
  value: Json | undefined;
  message: string | undefined;
  onChange: (value: Json | undefined) => void;
}) {
  const [text, setText] = useState(() => (Array.isArray(value) ? matrixText(value) : ""));
  const [problem, setProblem] = useState<string>();
  const take = (next: string) => {
    setText(next);
    try {
      const entries = readMatrix(next);
      setProblem(undefined);
      onChange(entries.length > 0 ? (entries as unknown as Json) : undefined);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const field = useRef<HTMLDivElement>(null);
  const over = useFileDrop(field, ([file]) => file && void textOf(file).then(take));
  const shown = problem ?? message;
  return (
    <div ref={field} className={styles.matrix} data-over={over || undefined}>
      <label>
        Lines of sender, receiver, weight
        <textarea
          className={textAreaClass}
          aria-invalid={shown !== undefined || undefined}
          spellCheck={false}
          placeholder={"0000;0132;1\n0001;0033;2"}
          value={text}
          onChange={(event) => take(event.target.value)}
        />
      </label>
      {shown && <p className={styles.message}>{shown}</p>}
      <label className={styles.file}>
        Load a CSV file, or drop it here
        <input
          type="file"
          accept=".csv,.tsv,.txt,text/csv,text/plain"
          onChange={({ target }) => target.files?.[0] && void textOf(target.files[0]).then(take)}
        />
      </label>
    </div>
  );
}
