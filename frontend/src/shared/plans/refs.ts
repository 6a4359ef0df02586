/**
 * The plans of a comparison in its URL: a saved id, one of its revisions as `id@2`, `ex.dcell` for
 * an example, `z.…` for a packed spec.
 */
import { exampleBySlug } from "./examples";
import { decodeSpec } from "./share";
import type { PlanSpec } from "./spec";

export const MAX_PLANS = 4;
export const DEFAULT_REFS = ["ex.bcube", "ex.dcell", "ex.fat-tree", "ex.tree"];

export interface ComparedRef {
  ref: string;
  id?: string;
  revision?: number;
  spec?: PlanSpec;
  name?: string;
}

export function readRefs(text: string | undefined): string[] {
  const refs = (text ?? "").split(",").filter(Boolean);
  return [...new Set(refs)].slice(0, MAX_PLANS);
}

/** Throws an Error a person can read for a reference that means nothing. */
export async function resolveRef(ref: string): Promise<ComparedRef> {
  if (ref.startsWith("ex.")) {
    const example = exampleBySlug(ref.slice(3));
    if (!example) throw new Error(`No example is named “${ref.slice(3)}”.`);
    return { ref, spec: example.spec, name: example.title };
  }
  if (ref.startsWith("z.")) return { ref, spec: await decodeSpec(ref.slice(2)) };
  const [, id, revision] = /^([0-9a-z]+)(?:@([1-9][0-9]{0,8}))?$/i.exec(ref) ?? [];
  if (id === undefined)
    throw new Error(`“${ref.slice(0, 40)}” is not a plan. Type a plan id, an example or a share code.`);
  return { ref, id, ...(revision !== undefined && { revision: Number(revision) }) };
}

/** The references without one of them, and where the base is then. */
export function without(refs: string[], base: number, at: number): { refs: string[]; base: number } {
  const rest = refs.filter((_, index) => index !== at);
  return { refs: rest, base: at === base ? 0 : at < base ? base - 1 : base };
}
