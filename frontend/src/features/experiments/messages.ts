/** The server's objections by the field of the draft that they are about. */
import { ApiError } from "@/api/client";

export type Messages = ReadonlyMap<string, string>;

/** `body.faults.0.target.ratio` and `faults[0].target.ratio` are both `faults.0.target.ratio`. */
export function fieldPath(where: string): string {
  return where
    .replace(/^body\.?/, "")
    .replaceAll(/\[(\d+)\]/g, ".$1")
    .split(".")
    .filter((segment) => segment !== "")
    .join(".");
}

export function messagesOf(error: unknown): Messages {
  const messages = new Map<string, string>();
  if (!(error instanceof ApiError)) return messages;
  const add = (where: string, message: string, more: (string | null | undefined)[]) => {
    const path = fieldPath(where);
    if (messages.has(path)) return;
    messages.set(path, [message, ...more].filter(Boolean).join(" "));
  };
  for (const { field, message, limit, hint } of error.errors)
    add(field, /[.!]$/.test(message) ? message : `${message}.`, [hint || (limit && `Must be ${limit}.`)]);
  for (const { where, message, hint } of error.findings) add(where, message, [hint]);
  return messages;
}

/** The message about a field or anything in it. */
export function messageAt(messages: Messages, path: string): string | undefined {
  const own = messages.get(path);
  if (own !== undefined) return own;
  for (const [where, message] of messages) if (where.startsWith(`${path}.`)) return message;
  return undefined;
}
