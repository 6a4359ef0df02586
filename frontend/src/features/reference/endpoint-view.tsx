import { useMemo, useRef, useState } from "react";
import { call } from "@/api/client";
import { Button } from "@/ui/button";
import { CopyButton, saveFile } from "@/ui/clipboard";
import { Stacked, TextInput, textAreaClass } from "@/ui/form";
import { formatBytes, formatCount } from "@/units";
import { curlOf, type ScreenRequest } from "../shared/curl";
import type { Json } from "../shared/spec";
import {
  type Document,
  deref,
  type Endpoint,
  exampleOf,
  fillPath,
  type ParameterObject,
  type Schema,
  typeText,
} from "./openapi";
import styles from "./reference-page.module.css";

interface Answer {
  status: number;
  statusText: string;
  ms: number;
  bytes: number;
  type: string;
  text: string | null;
  blob: Blob;
}

/** As much of an answer as a person reads; the rest is in the file. */
const SHOWN_CHARACTERS = 20_000;

/** One call: what it takes and gives, and a form to make it. */
export function EndpointView({ document, endpoint }: { document: Document; endpoint: Endpoint }) {
  const { operation, method, path } = endpoint;
  const parameters = useMemo(
    () =>
      (operation.parameters ?? [])
        .map((p) => deref(document, p))
        .filter((p): p is ParameterObject => p !== undefined),
    [document, operation],
  );
  const content = operation.requestBody?.content["application/json"];
  const [values, setValues] = useState<Record<string, string>>({});
  const [body, setBody] = useState(() =>
    content ? JSON.stringify(content.example ?? exampleOf(document, content.schema), null, 2) : "",
  );
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const abort = useRef<AbortController | null>(null);

  const target = fillPath(path, parameters, values);
  const missing = parameters.filter((p) => p.in === "path" && !values[p.name]);
  const parsed = useMemo(() => {
    if (!content) return { ok: true as const, value: undefined };
    try {
      return { ok: true as const, value: JSON.parse(body) as Json };
    } catch (caught) {
      return { ok: false as const, message: caught instanceof Error ? caught.message : String(caught) };
    }
  }, [content, body]);

  const send = async () => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    setBusy(true);
    setError(null);
    const started = performance.now();
    try {
      const headers: Record<string, string> = content ? { "Content-Type": "application/json" } : {};
      for (const parameter of parameters)
        if (parameter.in === "header" && values[parameter.name])
          headers[parameter.name] = values[parameter.name]!;
      const response = await call(
        new Request(target, { method, headers, body: content ? body : undefined, signal: controller.signal }),
      );
      const blob = await response.blob();
      const type = response.headers.get("content-type") ?? "";
      const textual = /json|text|xml|svg|csv|yaml/.test(type);
      let text = textual ? await blob.text() : null;
      if (text !== null && type.includes("json")) text = pretty(text);
      setAnswer({
        status: response.status,
        statusText: response.statusText,
        ms: Math.round(performance.now() - started),
        bytes: blob.size,
        type,
        text,
        blob,
      });
    } catch (caught) {
      if (!controller.signal.aborted) setError(caught instanceof Error ? caught.message : String(caught));
    } finally {
      if (abort.current === controller) setBusy(false);
    }
  };

  const request: ScreenRequest = {
    title: operation.summary ?? endpoint.key,
    method: method as ScreenRequest["method"],
    path: target,
    body: parsed.ok ? parsed.value : undefined,
  };
  return (
    <article className={styles.endpoint} aria-label={`${method} ${path}`}>
      <header>
        <h2>{operation.summary ?? endpoint.key}</h2>
        <p className={styles.signature}>
          <span className={styles.method} data-method={method}>
            {method}
          </span>
          <code>{path}</code>
        </p>
        {operation.description && <p className={styles.description}>{operation.description}</p>}
      </header>
      <div className={styles.columns}>
        <div>
          {parameters.length > 0 && (
            <>
              <h3>Parameters</h3>
              {parameters.map((p) => (
                <Stacked
                  key={`${p.in} ${p.name}`}
                  label={`${p.name} · ${p.in} · ${typeText(document, p.schema)}${p.required ? " · required" : ""}`}
                >
                  {(id) => (
                    <>
                      <TextInput
                        id={id}
                        value={values[p.name] ?? ""}
                        placeholder={
                          p.schema?.default !== undefined && p.schema.default !== null
                            ? String(p.schema.default)
                            : ""
                        }
                        onChange={(event) => setValues((old) => ({ ...old, [p.name]: event.target.value }))}
                      />
                      {p.description && <span className={styles.muted}>{p.description}</span>}
                    </>
                  )}
                </Stacked>
              ))}
            </>
          )}
          {content && (
            <>
              <h3>Body · {typeText(document, content.schema)}</h3>
              <Stacked label="JSON">
                {(id) => (
                  <textarea
                    id={id}
                    className={textAreaClass}
                    rows={Math.min(18, body.split("\n").length + 1)}
                    spellCheck={false}
                    value={body}
                    aria-invalid={!parsed.ok || undefined}
                    onChange={(event) => setBody(event.target.value)}
                  />
                )}
              </Stacked>
              {!parsed.ok && <p className={styles.wrong}>{parsed.message}</p>}
              <SchemaTable document={document} schema={content.schema} />
            </>
          )}
          <h3>Answers</h3>
          <dl className={styles.answers}>
            {Object.entries(operation.responses).map(([status, response]) => {
              const full = deref(document, response);
              const schema = Object.values(full?.content ?? {})[0]?.schema;
              return (
                <div key={status}>
                  <dt>{status}</dt>
                  <dd>
                    {full?.description} {schema && <code>{typeText(document, schema)}</code>}
                  </dd>
                </div>
              );
            })}
          </dl>
        </div>
        <div className={styles.try}>
          <div className={styles.tryBar}>
            <Button
              look="primary"
              icon="play"
              disabled={busy || missing.length > 0 || !parsed.ok}
              onClick={() => void send()}
            >
              Send
            </Button>
            {busy && (
              <Button look="quiet" onClick={() => abort.current?.abort()}>
                Cancel
              </Button>
            )}
            <CopyButton small={false} text={() => curlOf(request, location.origin)}>
              Copy as curl
            </CopyButton>
            {missing.length > 0 && (
              <span className={styles.muted}>Give {missing.map((p) => p.name).join(", ")}</span>
            )}
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long call scrolls */}
          <pre className={styles.code} tabIndex={0}>
            {curlOf(request, location.origin)}
          </pre>
          {error && (
            <p className={styles.wrong} role="alert">
              {error}
            </p>
          )}
          {answer && (
            <section aria-label="Answer" aria-live="polite">
              <div className={styles.tryBar}>
                <strong data-ok={answer.status < 400}>
                  {answer.status} {answer.statusText}
                </strong>
                <span className={styles.muted}>
                  {formatCount(answer.ms)} ms · {formatBytes(answer.bytes)} · {answer.type.split(";")[0]}
                </span>
                <Button small icon="export" onClick={() => saveFile(answer.blob, endpoint.key)}>
                  Save
                </Button>
              </div>
              {answer.text !== null && (
                // biome-ignore lint/a11y/noNoninteractiveTabindex: a long answer scrolls
                <pre className={styles.code} tabIndex={0}>
                  {answer.text.slice(0, SHOWN_CHARACTERS)}
                  {answer.text.length > SHOWN_CHARACTERS && "\n… Save shows the rest"}
                </pre>
              )}
            </section>
          )}
        </div>
      </div>
    </article>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function SchemaTable({ document, schema }: { document: Document; schema: Schema | undefined }) {
  const full = deref(document, schema);
  const properties = Object.entries(full?.properties ?? {});
  if (properties.length === 0) return null;
  return (
    <dl className={styles.schema}>
      {properties.map(([name, property]) => (
        <div key={name}>
          <dt>
            <code>{name}</code>
            {full?.required?.includes(name) && <span title="required"> *</span>}
          </dt>
          <dd>
            <code>{typeText(document, property)}</code> {deref(document, property)?.description}
          </dd>
        </div>
      ))}
    </dl>
  );
}
