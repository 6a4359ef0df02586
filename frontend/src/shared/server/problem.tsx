import { type ReactNode, useState } from "react";
import { ApiError, setToken, UnreachableError } from "@/api/client";
import { Button } from "@/ui/button";
import { TextInput } from "@/ui/form";
import { Icon } from "@/ui/icon";
import styles from "./problem.module.css";

/**
 * A failed call in words: what, which field, what it must be, what to do; and a way to try again.
 */
export function ProblemView({
  error,
  onRetry,
  title,
  children,
}: {
  error: unknown;
  onRetry?: () => void;
  title?: string;
  /** Other actions than trying again. */
  children?: ReactNode;
}) {
  const api = error instanceof ApiError ? error : null;
  const away = error instanceof UnreachableError;
  // Messages about parts of the address mean nothing to users who followed a link.
  const misled = api?.status === 422 && api.errors.some(({ field }) => field.startsWith("path."));
  const errors = misled ? [] : (api?.errors ?? []);
  // One refused field has its message in the detail too; a file's cell, with its place.
  const [only, ...others] = errors;
  const detail = api?.message.toLowerCase();
  const isRepeated =
    only !== undefined &&
    others.length === 0 &&
    ["", `${only.field}: `, `${only.field.replace(/^body\./, "")}: `].some(
      (place) => detail === `${place}${only.message}`.toLowerCase(),
    );
  const heading = title ?? (away ? "Not connected" : (api?.problem.title ?? "Something went wrong"));
  return (
    <div className={styles.problem} role="alert">
      <div className={styles.head}>
        <Icon name={away ? "offline" : "error"} />
        <strong>{heading}</strong>
        {api && !misled && <span className={styles.code}>{api.status}</span>}
      </div>
      {misled ? (
        <p>Not found. It may have been deleted.</p>
      ) : (
        !isRepeated && <p>{error instanceof Error ? error.message : String(error)}</p>
      )}
      {errors.length > 0 && (
        <ul className={styles.fields}>
          {errors.map((field) => (
            <li key={`${field.field} ${field.message}`}>
              <code>{field.field.replace(/^body\.(?=line )/, "")}</code> {field.message}
              {field.limit && <span className="muted"> Must be {field.limit}.</span>}
              {field.hint && <span className="muted"> {field.hint}</span>}
            </li>
          ))}
        </ul>
      )}
      {api && api.findings.length > 0 && (
        <ul className={styles.fields}>
          {api.findings.map((finding) => (
            <li key={`${finding.code} ${finding.where} ${finding.message}`}>
              <code>{finding.where}</code> {finding.message}
              {finding.hint && <span className="muted"> {finding.hint}</span>}
            </li>
          ))}
        </ul>
      )}
      {api?.status === 401 && <TokenForm onDone={onRetry} />}
      <div className={styles.actions}>
        {onRetry && !misled && <Button onClick={onRetry}>Try again</Button>}
        {children}
        {api?.problem.request_id && !misled && (
          <span className="muted">Request {api.problem.request_id}</span>
        )}
      </div>
    </div>
  );
}

function TokenForm({ onDone }: { onDone?: () => void }) {
  const [text, setText] = useState("");
  return (
    <form
      className={styles.token}
      onSubmit={(event) => {
        event.preventDefault();
        setToken(text.trim());
        onDone?.();
      }}
    >
      <TextInput
        type="password"
        aria-label="API token"
        placeholder="API token"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" look="primary" disabled={text.trim() === ""}>
        Use token
      </Button>
    </form>
  );
}
