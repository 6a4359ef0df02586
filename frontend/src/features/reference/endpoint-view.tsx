import { useMemo, useState } from "react";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/clipboard";
import { Stacked, TextInput, textAreaClass } from "@/ui/form";
import { curlOf, type ScreenRequest } from "../shared/curl";
import type { Json } from "../shared/spec";
import { AnswerView } from "./answer-view";
import {
  type Document,
  deref,
  type Endpoint,
  exampleOf,
  fillPath,
  type ParameterObject,
  typeText,
} from "./openapi";
import styles from "./reference-page.module.css";
import { SchemaTable } from "./schema-table";
import { useSend } from "./use-send";

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

  const { answer, error, busy, send, cancel } = useSend();
  const submit = () => {
    const headers: Record<string, string> = content ? { "Content-Type": "application/json" } : {};
    for (const { in: place, name } of parameters)
      if (place === "header" && values[name]) headers[name] = values[name];
    void send(target, { method, headers, body: content ? body : undefined });
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
              onClick={submit}
            >
              Send
            </Button>
            {busy && (
              <Button look="quiet" onClick={cancel}>
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
          {answer && <AnswerView answer={answer} fileName={endpoint.key} />}
        </div>
      </div>
    </article>
  );
}
