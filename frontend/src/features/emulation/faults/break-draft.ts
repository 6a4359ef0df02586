/** The fault that is being prepared, and the API call for it. */
import { ApiError } from "@/api/client";
import type { components } from "@/api/schema";
import { type FaultKind, faultKind, generalKind, kindsFor } from "@/shared/faults/fault-kinds";
import { type Item, itemName, type Network } from "../session/network";

type LiveFault = components["schemas"]["LiveFault"];

export interface BreakDraft {
  kind: FaultKind;
  /** Null: the target is the text of the selector. */
  target: Item | null;
  words: string;
  /** As typed, by parameter, in its unit. */
  amounts: Readonly<Record<string, number | null>>;
  lastsSecs: number | null;
  flapSecs: number | null;
}

export const noBreak = (): BreakDraft => ({
  kind: generalKind(),
  target: null,
  words: "",
  amounts: {},
  lastsSecs: null,
  flapSecs: null,
});

/** Changes the target, and keeps the other choices as far as they apply to it. */
export function withTarget(draft: BreakDraft, target: Item | null): BreakDraft {
  const strikes = target === null || target.kind === "flow" ? null : target.kind;
  const kinds = kindsFor(strikes);
  const general = generalKind();
  const kept = kinds.some(({ kind }) => kind === draft.kind) && draft.kind !== general;
  const kind = kept ? draft.kind : (kinds.find((form) => form.kind !== general)?.kind ?? general);
  return { ...draft, target, words: "", kind: strikes ? kind : general };
}

/** The body of the call; null while nothing is chosen. */
export function liveFaultOf(network: Network, draft: BreakDraft): LiveFault | null {
  const words = draft.words.trim();
  if (draft.target === null && words === "") return null;
  const numbers = faultKind(draft.kind).parameters.map(({ name, otherwise, factor }) => [
    name,
    (draft.amounts[name] ?? otherwise) * factor,
  ]);
  return {
    at_secs: 0,
    kind: draft.kind,
    target: draft.target
      ? { names: [itemName(network, draft.target)] }
      : / of | rack /i.test(` ${words} `)
        ? { selector: words }
        : { names: words.split(/\s+/) },
    ...Object.fromEntries(numbers),
    ...(draft.lastsSecs !== null && { until_secs: draft.lastsSecs }),
    ...(draft.flapSecs !== null && { flap_secs: draft.flapSecs }),
  };
}

export function problemText(error: unknown): string {
  if (error instanceof ApiError) {
    const [first] = error.errors;
    return [first?.message ?? error.message, first?.hint].filter(Boolean).join(" ");
  }
  return error instanceof Error ? error.message : String(error);
}
