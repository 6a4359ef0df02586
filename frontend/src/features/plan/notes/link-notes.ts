/**
 * Notes in a link that carries the plan itself. Notes are kept with a saved plan; a link to unsaved
 * edits does not refer to a saved plan, so it contains copies of the open notes, with authors and
 * times.
 */
import type { Note } from "@/api/types";
import { fitsLink, pack, unpack } from "@/shared/plans/share";
import type { Json } from "@/shared/plans/spec";

/** More than these would make a link that mail programs break. */
export const MAX_LINK_NOTES = 40;

interface Copied {
  kind: "rack" | "device" | "cable";
  name: string;
  ends: string[] | null;
  text: string;
  by: string;
  at: string;
}

/** The code for a link; null without open notes on the plan, or if they do not fit into one. */
export async function packNotes(notes: readonly Note[]): Promise<string | null> {
  const copied = notes.filter((note) => note.resolved_at === null && note.anchor.kind !== "moment");
  if (copied.length === 0 || copied.length > MAX_LINK_NOTES) return null;
  const code = await pack(
    copied.map(({ anchor, text, by, at }) => ({
      kind: anchor.kind,
      name: anchor.name,
      ends: anchor.ends,
      text,
      by,
      at,
    })) as Json,
  );
  return fitsLink(code) ? code : null;
}

/**
 * The notes of a link. Invalid notes are omitted; throws an Error with a readable message for a
 * damaged code.
 */
export async function unpackNotes(code: string): Promise<Note[]> {
  const value: unknown = JSON.parse(await unpack(code));
  const copied = Array.isArray(value) ? value.filter(isCopied).slice(0, MAX_LINK_NOTES) : [];
  return copied.map(({ kind, name, ends, text, by, at }, index) => ({
    id: `link-${index}`,
    plan: null,
    revision: null,
    anchor: { kind, name, ends, run: null, at_secs: null },
    here: null,
    text,
    version: 1,
    by,
    at,
    edited_by: null,
    edited_at: null,
    resolved_by: null,
    resolved_at: null,
  }));
}

const isText = (value: unknown, most: number): value is string =>
  typeof value === "string" && value !== "" && value.length <= most;

function isCopied(value: unknown): value is Copied {
  if (typeof value !== "object" || value === null) return false;
  const { kind, name, ends, text, by, at } = value as Record<string, unknown>;
  const hasEnds = Array.isArray(ends) && ends.length === 4 && ends.every((end) => isText(end, 120));
  return (
    (kind === "cable" ? hasEnds : (kind === "rack" || kind === "device") && ends === null) &&
    isText(name, 120) &&
    isText(text, 2000) &&
    isText(by, 120) &&
    isText(at, 40) &&
    !Number.isNaN(Date.parse(at))
  );
}
