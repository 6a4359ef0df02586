/**
 * The user's programs in container images, next to servers: the command, the servers, and the
 * server's message about each field.
 */
import { useState } from "react";
import type { Json, JsonObject } from "@/shared/plans/spec";
import { Button, IconButton } from "@/ui/button";
import { cx } from "@/ui/cx";
import { Field, Stacked, TextInput, textAreaClass } from "@/ui/form";
import type { Draft } from "./draft";
import { type Messages, messageAt } from "./messages";
import styles from "./own-fields.module.css";
import {
  imagesOf,
  lineOf,
  MOST_IMAGES,
  namesOf,
  variableLines,
  variablesOf,
  withImages,
  wordsOf,
} from "./user-images";

export default function ImagesField({
  draft,
  inContainers,
  messages,
  onChange,
}: {
  draft: Draft;
  /** Whether servers are containers: images cannot run next to a namespace. */
  inContainers: boolean;
  messages: Messages;
  onChange: (draft: Draft) => void;
}) {
  const images = imagesOf(draft);
  const put = (next: readonly JsonObject[]) => onChange(withImages(draft, next));
  const wrong =
    messages.get("emulation.images") ??
    (images.length > 0 && !inContainers ? "Images need servers that run as containers." : undefined);
  return (
    <fieldset className={cx(styles.zone, styles.images)}>
      <legend>Images of your own</legend>
      <p className={styles.note}>
        A second container of each server, in its network and without privileges: a web server, a database or
        your own program.
      </p>
      {wrong && (
        <p className={styles.wrong} role="alert">
          {wrong}
        </p>
      )}
      {images.map((image, at) => (
        <ImageFields
          // It has no other identity while its name is typed.
          key={at}
          at={at}
          image={image}
          messages={messages}
          onChange={(next) => put(images.map((old, place) => (place === at ? next : old)))}
          onRemove={() => put(images.filter((_, place) => place !== at))}
        />
      ))}
      {images.length < MOST_IMAGES && (
        <Button small look="quiet" icon="plus" onClick={() => put([...images, { image: "" }])}>
          {images.length === 0 ? "Add an image" : "Add another image"}
        </Button>
      )}
    </fieldset>
  );
}

function ImageFields({
  at,
  image,
  messages,
  onChange,
  onRemove,
}: {
  at: number;
  image: JsonObject;
  messages: Messages;
  onChange: (image: JsonObject) => void;
  onRemove: () => void;
}) {
  const message = (field: string) => messageAt(messages, `emulation.images.${at}.${field}`);
  const name = typeof image.image === "string" ? image.image : "";
  const title = name || `Image ${at + 1}`;
  const set = (field: string, value: Json | undefined) => {
    const { [field]: _, ...rest } = image;
    onChange(value === undefined ? rest : { ...rest, [field]: value });
  };
  const names = Array.isArray(image.servers) ? image.servers.join(", ") : "";
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset's legend cannot stand beside a button
    <div role="group" aria-label={title} className={styles.item}>
      <div className={styles.head}>
        <strong>{title}</strong>
        <IconButton small icon="close" label={`Remove ${title}`} onClick={onRemove} />
      </div>
      <Field
        label="Image"
        title="[REGISTRY/]NAME[:TAG][@sha256:DIGEST]; pulled if it is missing."
        controlWidth={220}
        message={message("image")}
      >
        {({ id, describedBy }) => (
          <TextInput
            id={id}
            aria-describedby={describedBy}
            maxLength={512}
            placeholder="nginxinc/nginx-unprivileged:1.29"
            value={name}
            onChange={(event) => onChange({ ...image, image: event.target.value })}
          />
        )}
      </Field>
      <TypedField
        label="Command"
        title="Quoted as in a shell, but run without one. If empty, the image’s own."
        text={lineOf(image.command)}
        placeholder="the image’s own"
        message={message("command")}
        onText={(line) => set("command", wordsOf(line))}
      />
      <TypedField
        label="Servers"
        title="Names, separated by commas. If empty, all servers. At most one image per server."
        text={names}
        placeholder="all"
        message={message("servers")}
        onText={(text) => set("servers", namesOf(text))}
      />
      <details className={styles.more}>
        <summary>Environment and files</summary>
        <Variables
          text={variableLines(image.environment)}
          message={message("environment")}
          onText={(text) => set("environment", variablesOf(text))}
        />
        <label className={styles.check}>
          <input
            type="checkbox"
            checked={image.writable === true}
            onChange={(event) => set("writable", event.target.checked || undefined)}
          />
          Writable root (/tmp is always writable)
        </label>
      </details>
    </div>
  );
}

/** Text that represents another value: it is kept as typed, not replaced by the formatted value. */
function useTyped(text: string, onText: (text: string) => void) {
  const [typed, setTyped] = useState(text);
  return {
    value: typed,
    onChange: (event: { target: { value: string } }) => {
      setTyped(event.target.value);
      onText(event.target.value);
    },
  };
}

function TypedField({
  label,
  title,
  text,
  placeholder,
  message,
  onText,
}: {
  label: string;
  title: string;
  text: string;
  placeholder: string;
  message: string | undefined;
  onText: (text: string) => void;
}) {
  const typed = useTyped(text, onText);
  return (
    <Field label={label} title={title} controlWidth={220} message={message}>
      {({ id, describedBy }) => (
        <TextInput id={id} aria-describedby={describedBy} placeholder={placeholder} {...typed} />
      )}
    </Field>
  );
}

function Variables({
  text,
  message,
  onText,
}: {
  text: string;
  message: string | undefined;
  onText: (text: string) => void;
}) {
  const typed = useTyped(text, onText);
  return (
    <Stacked label="Variables, one NAME=VALUE per line">
      {(id) => (
        <>
          <textarea id={id} className={textAreaClass} rows={3} spellCheck={false} {...typed} />
          {message && (
            <p className={styles.wrong} role="alert">
              {message}
            </p>
          )}
        </>
      )}
    </Stacked>
  );
}
