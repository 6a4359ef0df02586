import { useMemo, useState } from "react";
import { Stacked, TextInput, textAreaClass } from "@/ui/form";
import {
  type Document,
  deref,
  type Endpoint,
  exampleOf,
  type ParameterObject,
  type Schema,
  typeText,
} from "./openapi";
import styles from "./reference-page.module.css";
import { SchemaTable } from "./schema-table";
import { type Parsed, parse, TryCall } from "./try-call";

/** One call: its parameters and responses, and a form to send it. */
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
  const [values, setValues] = useState<Values>({});
  const [body, setBody] = useState(() =>
    content ? JSON.stringify(content.example ?? exampleOf(document, content.schema), null, 2) : "",
  );
  const parsed = useMemo<Parsed>(
    () => (content ? parse(body) : { ok: true, value: undefined }),
    [content, body],
  );

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
          <Parameters document={document} parameters={parameters} values={values} onValues={setValues} />
          {content && (
            <Body
              document={document}
              schema={content.schema}
              body={body}
              onBody={setBody}
              wrong={parsed.ok ? null : parsed.message}
            />
          )}
          <Responses document={document} operation={operation} />
        </div>
        <TryCall
          endpoint={endpoint}
          parameters={parameters}
          values={values}
          body={content ? body : undefined}
          parsed={parsed}
        />
      </div>
    </article>
  );
}

type Values = Record<string, string>;

function Parameters({
  document,
  parameters,
  values,
  onValues,
}: {
  document: Document;
  parameters: readonly ParameterObject[];
  values: Values;
  onValues: (change: (values: Values) => Values) => void;
}) {
  if (parameters.length === 0) return null;
  return (
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
                  p.schema?.default !== undefined && p.schema.default !== null ? String(p.schema.default) : ""
                }
                onChange={(event) => onValues((old) => ({ ...old, [p.name]: event.target.value }))}
              />
              {p.description && <span className="muted">{p.description}</span>}
            </>
          )}
        </Stacked>
      ))}
    </>
  );
}

function Body({
  document,
  schema,
  body,
  onBody,
  wrong,
}: {
  document: Document;
  schema: Schema | undefined;
  body: string;
  onBody: (body: string) => void;
  /** Why it is no JSON. */
  wrong: string | null;
}) {
  return (
    <>
      <h3>Body · {typeText(document, schema)}</h3>
      <Stacked label="JSON">
        {(id) => (
          <textarea
            id={id}
            className={textAreaClass}
            rows={Math.min(18, body.split("\n").length + 1)}
            spellCheck={false}
            value={body}
            aria-invalid={wrong !== null || undefined}
            onChange={(event) => onBody(event.target.value)}
          />
        )}
      </Stacked>
      {wrong !== null && <p className={styles.wrong}>{wrong}</p>}
      <SchemaTable document={document} schema={schema} />
    </>
  );
}

function Responses({ document, operation }: { document: Document; operation: Endpoint["operation"] }) {
  return (
    <>
      <h3>Responses</h3>
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
    </>
  );
}
