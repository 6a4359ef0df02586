/** The server's objections by the field of the draft that they are about. */
import { ApiError } from "@/api/client";
import { type Draft, faultsOf, targetForm } from "./draft";

export type Messages = ReadonlyMap<string, string>;

const TARGETS = { share: "ShareTarget", names: "NamedTarget", words: "SelectedTarget" } as const;
/** A segment that names one of several forms a value may have, not a field. */
const isForm = (segment: string) => /^[A-Z]|[[\]]/.test(segment) && !/^\d+$/.test(segment);

/** `body.faults.0.target.ShareTarget.ratio` and `faults[0].target.ratio` are both `faults.0.target.ratio`. */
export function fieldPath(where: string): string {
  return where
    .replace(/^body\.?/, "")
    .replaceAll(/\[(\d+)\]/g, ".$1")
    .split(".")
    .filter((segment) => segment !== "" && !isForm(segment))
    .join(".");
}

/** Of a value that may have several forms, only what is said about the form that it has. */
function applies(where: string, draft: Draft): boolean {
  const target = /faults\.(\d+)\.target\.([A-Z]\w+)/.exec(where);
  if (!target) return true;
  const fault = faultsOf(draft)[Number(target[1])];
  return fault === undefined || TARGETS[targetForm(fault)] === target[2];
}

export function messagesOf(error: unknown, draft: Draft): Messages {
  const messages = new Map<string, string>();
  if (!(error instanceof ApiError)) return messages;
  const add = (where: string, message: string, more: (string | null | undefined)[]) => {
    const path = fieldPath(where);
    if (!applies(where, draft) || messages.has(path)) return;
    messages.set(path, [message, ...more].filter(Boolean).join(" "));
  };
  for (const { field, message, limit, hint } of error.errors)
    add(field, /[.!]$/.test(message) ? message : `${message}.`, [hint || (limit && `Must be ${limit}.`)]);
  for (const { where, message, hint } of error.findings) add(where, message, [hint]);
  return messages;
}

/** What is said about a field or anything in it. */
export function messageAt(messages: Messages, path: string): string | undefined {
  const own = messages.get(path);
  if (own !== undefined) return own;
  for (const [where, message] of messages) if (where.startsWith(`${path}.`)) return message;
  return undefined;
}

/** What is said about none of these fields. */
export function otherMessages(messages: Messages, shown: readonly string[]): string[] {
  return [...messages]
    .filter(([where]) => !shown.some((path) => where === path || where.startsWith(`${path}.`)))
    .map(([where, message]) => (where ? `${where}: ${message}` : message));
}
