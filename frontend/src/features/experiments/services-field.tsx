/**
 * The user's services on every server: their modules as files, chosen or dropped, and the server's
 * message about each field.
 */
import { useRef, useState } from "react";
import type { JsonObject } from "@/shared/plans/spec";
import { IconButton } from "@/ui/button";
import { Field, NumberInput, TextInput } from "@/ui/form";
import { useFileDrop } from "@/ui/use-file-drop";
import { formatBytes } from "@/units";
import type { Draft } from "./draft";
import { type Messages, messageAt } from "./messages";
import styles from "./own-fields.module.css";
import {
  base64Of,
  bytesIn,
  FIRST_ID,
  fileProblem,
  LAST_ID,
  MOST_SERVICES,
  servicesOf,
  withModule,
  withServices,
} from "./user-services";

export default function ServicesField({
  draft,
  own,
  messages,
  onChange,
}: {
  draft: Draft;
  /** Names of the services that every server has anyway. */
  own: readonly string[];
  messages: Messages;
  onChange: (draft: Draft) => void;
}) {
  const zone = useRef<HTMLFieldSetElement>(null);
  const [problems, setProblems] = useState<string[]>([]);
  const services = servicesOf(draft);
  // Reading a file takes a moment, in which the draft may change.
  const latest = useRef(draft);
  latest.current = draft;

  const add = async (files: readonly File[]) => {
    const refused: string[] = [];
    for (const file of files) {
      const problem = fileProblem(file, servicesOf(latest.current));
      if (problem) {
        refused.push(problem);
        continue;
      }
      const module = base64Of(new Uint8Array(await file.arrayBuffer()));
      latest.current = withServices(
        latest.current,
        withModule(servicesOf(latest.current), file.name, module),
      );
      onChange(latest.current);
    }
    setProblems(refused);
  };
  const over = useFileDrop(zone, (files) => void add(files));
  const put = (next: readonly JsonObject[]) => onChange(withServices(draft, next));
  const general = messages.get("emulation.services");
  return (
    <fieldset ref={zone} className={styles.zone} data-over={over || undefined}>
      <legend>Services of your own</legend>
      <p className={styles.note}>
        WebAssembly on every server
        {own.length > 0 && `, beside ${own.join(", ")}`}. Begin one with{" "}
        <code>bin/cubeyard service new NAME</code>.
      </p>
      {general && (
        <p className={styles.wrong} role="alert">
          {general}
        </p>
      )}
      {services.map((service, at) => (
        <ServiceFields
          // It has no other identity while its name is typed.
          key={at}
          at={at}
          service={service}
          messages={messages}
          onChange={(next) => put(services.map((old, place) => (place === at ? next : old)))}
          onRemove={() => put(services.filter((_, place) => place !== at))}
        />
      ))}
      {services.length < MOST_SERVICES && (
        <label className={styles.file}>
          {services.length === 0
            ? "Add a service: choose its .wasm file, or drop it here"
            : "Add or replace a service"}
          <input
            type="file"
            accept=".wasm,.wat,application/wasm"
            multiple
            onChange={(event) => {
              const files = [...(event.target.files ?? [])];
              // So that the same file, built again, can be chosen again.
              event.target.value = "";
              void add(files);
            }}
          />
        </label>
      )}
      {problems.length > 0 && (
        <ul className={styles.wrong} role="alert">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
    </fieldset>
  );
}

function ServiceFields({
  at,
  service,
  messages,
  onChange,
  onRemove,
}: {
  at: number;
  service: JsonObject;
  messages: Messages;
  onChange: (service: JsonObject) => void;
  onRemove: () => void;
}) {
  const message = (field: string) => messageAt(messages, `emulation.services.${at}.${field}`);
  const name = typeof service.name === "string" ? service.name : "";
  const module = typeof service.module === "string" ? service.module : "";
  const title = name || `Service ${at + 1}`;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset's legend cannot stand beside a button
    <div role="group" aria-label={title} className={styles.item}>
      <div className={styles.head}>
        <strong>{title}</strong>
        <span className={styles.detail}>
          {module ? `${formatBytes(bytesIn(module))} module` : "no module"}
        </span>
        <IconButton small icon="close" label={`Remove ${title}`} onClick={onRemove} />
      </div>
      {(message("module") ?? !module) && (
        <p className={styles.wrong} role="alert">
          {module ? message("module") : "Links have no room for modules: choose or drop its file again."}
        </p>
      )}
      <Field label="Name" controlWidth={180} message={message("name")}>
        {({ id, describedBy }) => (
          <TextInput
            id={id}
            aria-describedby={describedBy}
            maxLength={32}
            value={name}
            onChange={(event) => onChange({ ...service, name: event.target.value })}
          />
        )}
      </Field>
      <Field
        label="Number"
        title="The serviceId in its packets, 256 to 65535; each service has its own."
        controlWidth={120}
        message={message("id")}
      >
        {({ id, describedBy }) => (
          <NumberInput
            id={id}
            describedBy={describedBy}
            value={typeof service.id === "number" ? service.id : FIRST_ID}
            integer
            min={FIRST_ID}
            max={LAST_ID}
            onChange={(number) => onChange({ ...service, id: number ?? FIRST_ID })}
          />
        )}
      </Field>
    </div>
  );
}
