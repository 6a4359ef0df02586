/**
 * A whole spec in a link: JSON with sorted keys, deflated, as URL-safe base64 behind a version
 * digit.
 */
import { canonical, type Json, type PlanSpec, readSpec } from "./spec";

const VERSION = "1";
/**
 * A link longer than this was not made here; refusing it keeps a crafted one from filling memory.
 */
const MAX_CODE_CHARACTERS = 64_000;
const MAX_JSON_BYTES = 1_000_000;
/** The prefix of codes that are stored in this tab only. */
const KEPT = "kept-";

export const encodeSpec = (spec: PlanSpec): Promise<string> => pack(spec);

export const SAVE_FIRST = "This plan is too large for a link. Save it first.";

/** The same, or null where the spec is too large for a link that anyone can open. */
export async function linkSpec(spec: PlanSpec): Promise<string | null> {
  const text = canonical(spec);
  if (new Blob([text]).size > MAX_JSON_BYTES) return null;
  const code = await pack(spec);
  return fitsLink(code) ? code : null;
}

/**
 * The code in the address of this tab: the spec itself or, for a large spec, the code under which
 * this tab stores it.
 */
export async function addressSpec(spec: PlanSpec): Promise<string> {
  return (await linkSpec(spec)) ?? (await import("./kept")).keepSpec(spec);
}

/** Any JSON, for `unpack`. */
export async function pack(value: Json): Promise<string> {
  const text = new Blob([canonical(value)]);
  const packed = await new Response(
    text.stream().pipeThrough(new CompressionStream("deflate-raw")),
  ).arrayBuffer();
  let binary = "";
  for (const byte of new Uint8Array(packed)) binary += String.fromCharCode(byte);
  return VERSION + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Throws an Error a person can read when the code is no spec. */
export async function decodeSpec(code: string): Promise<PlanSpec> {
  return code.startsWith(KEPT) ? (await import("./kept")).keptSpec(code) : parseSpecText(await unpack(code));
}

/** Whether `unpack` takes a code: with a longer one in it, a link is of no use. */
export const fitsLink = (code: string): boolean => code.length <= MAX_CODE_CHARACTERS;

/** The unpacked text. Throws an Error with a readable message if the code is invalid. */
export async function unpack(code: string): Promise<string> {
  if (!fitsLink(code)) throw new Error("This link is too long to be a Cubeyard link.");
  if (code[0] !== VERSION) throw new Error("This link was made by another version of Cubeyard.");
  let text = "";
  try {
    const binary = atob(code.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const packed = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    const reader = new Blob([packed])
      .stream()
      .pipeThrough(new DecompressionStream("deflate-raw"))
      .getReader();
    const decoder = new TextDecoder();
    let bytes = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.length;
      if (bytes > MAX_JSON_BYTES) throw new Error("too much");
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    throw new Error("This link is damaged or incomplete.");
  }
  return text;
}

/** A spec written out as JSON, as in `?topology={"family":"bcube",…}`. */
export function parseSpecText(text: string): PlanSpec {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("This link is damaged or incomplete.");
  }
  const spec = readSpec(value);
  if (!spec) throw new Error("This link is damaged or incomplete: it has no topology.");
  return spec;
}
