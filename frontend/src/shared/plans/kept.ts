/**
 * A spec that is too large for an address, kept by this tab until it is closed, so that a reload
 * does not lose it.
 */
import { parseSpecText } from "./share";
import { canonical, type PlanSpec } from "./spec";

const KEY = "cubeyard.kept-spec";

/**
 * The code that the address contains instead. Equal specs have the same code; only the last spec is
 * stored.
 */
export function keepSpec(spec: PlanSpec): string {
  const text = canonical(spec);
  const [code, before] = read();
  if (code && before === text) return code;
  const next = `kept-${Date.now().toString(36)}`;
  try {
    sessionStorage.setItem(KEY, `${next}\n${text}`);
  } catch {
    // The tab's storage is full: work continues, and after a reload a message explains it.
  }
  return next;
}

/** Throws an Error with a fix if this tab does not have it. */
export function keptSpec(code: string): PlanSpec {
  const [known, text] = read();
  if (known !== code)
    throw new Error(
      "This plan is too large for a link, and only the tab where it was edited has it. Save it there to share it.",
    );
  return parseSpecText(text);
}

function read(): [code: string, text: string] {
  try {
    const kept = sessionStorage.getItem(KEY) ?? "";
    const end = kept.indexOf("\n");
    return [kept.slice(0, Math.max(0, end)), kept.slice(end + 1)];
  } catch {
    return ["", ""];
  }
}
