/** A change in words. */
import type { Change } from "@/api/types";
import { oneOf } from "@/shared/plans/url-state";

export const KINDS = [
  "plan",
  "note",
  "work",
  "experiment",
  "run",
  "capture",
  "terminal",
  "book",
  "token",
  "webhook",
] as const;

const NAMES: Record<Change["kind"], string> = {
  plan: "Plan",
  note: "Note",
  work: "Cabling",
  experiment: "Experiment",
  run: "Run",
  capture: "Packet capture",
  terminal: "Terminal",
  book: "Price book",
  token: "API token",
  webhook: "Webhook",
};

export const kindName = (kind: Change["kind"]): string => NAMES[kind];

/** "Plan renamed", "Cabling marked". */
export const whatText = ({ kind, action }: Pick<Change, "kind" | "action">): string =>
  `${NAMES[kind]} ${action}`;

/** The kind that the address names; undefined for all, and for a word that is none. */
export const kindOf = (text: string | undefined) => oneOf(KINDS, text);
