/** Sends the call from the page and shows the response. */
import type { Json } from "@/shared/plans/spec";
import { curlOf, type ScreenRequest } from "@/shared/server/curl";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/clipboard";
import { AnswerView } from "./answer-view";
import { type Endpoint, fillPath, type ParameterObject } from "./openapi";
import styles from "./reference-page.module.css";
import { useSend } from "./use-send";

/** A body as JSON, or why it is none. */
export type Parsed = { ok: true; value: Json | undefined } | { ok: false; message: string };

export function parse(body: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(body) as Json };
  } catch (caught) {
    return { ok: false, message: caught instanceof Error ? caught.message : String(caught) };
  }
}

export function TryCall({
  endpoint,
  parameters,
  values,
  body,
  parsed,
}: {
  endpoint: Endpoint;
  parameters: readonly ParameterObject[];
  values: Readonly<Record<string, string>>;
  /** As typed; undefined when the call takes none. */
  body: string | undefined;
  parsed: Parsed;
}) {
  const { operation, method, path } = endpoint;
  const target = fillPath(path, parameters, values);
  const missing = parameters.filter((p) => p.in === "path" && !values[p.name]);
  const { answer, error, busy, send, cancel } = useSend();
  const submit = () => {
    const headers: Record<string, string> = body !== undefined ? { "Content-Type": "application/json" } : {};
    for (const { in: place, name } of parameters)
      if (place === "header" && values[name]) headers[name] = values[name];
    void send(target, { method, headers, body });
  };

  const request: ScreenRequest = {
    title: operation.summary ?? endpoint.key,
    method: method as ScreenRequest["method"],
    path: target,
    body: parsed.ok ? parsed.value : undefined,
  };
  return (
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
        {missing.length > 0 && <span className="muted">Type {missing.map((p) => p.name).join(", ")}</span>}
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
  );
}
