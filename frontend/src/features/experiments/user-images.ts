/**
 * Programs of a user’s own in images, as an experiment holds them, and as they are typed: words,
 * names and variables as text.
 */
import { isObject, type Json, type JsonObject } from "@/shared/plans/spec";
import type { Draft } from "./draft";
import { emulationOf, withEmulation } from "./engine";

export const MOST_IMAGES = 16;

/** Empty if there are none, or if the JSON typed by the user contains no list of them. */
export function imagesOf(draft: Draft): JsonObject[] {
  const { images } = emulationOf(draft);
  return Array.isArray(images) && images.every(isObject) ? images : [];
}

export const withImages = (draft: Draft, images: readonly JsonObject[]): Draft =>
  withEmulation(draft, "images", images.length > 0 ? [...images] : undefined);

/**
 * Splits a line into words like a shell: quotes keep spaces, a backslash escapes the next
 * character. None for an empty line.
 */
export function wordsOf(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at++) {
    const letter = line[at]!;
    if (letter === "\\" && quote !== "'" && at + 1 < line.length) word = (word ?? "") + line[++at]!;
    else if (letter === quote) quote = "";
    else if (quote === "" && (letter === "'" || letter === '"')) {
      quote = letter;
      word ??= "";
    } else if (quote === "" && /\s/.test(letter)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + letter;
  }
  if (word !== undefined) words.push(word);
  return words.length > 0 ? words : undefined;
}

/** The line that gives these words. */
export const lineOf = (words: Json | undefined): string =>
  Array.isArray(words)
    ? words
        .map((word) =>
          /^[\w@%+=:,./-]+$/.test(String(word)) ? String(word) : `'${String(word).replaceAll("'", `'\\''`)}'`,
        )
        .join(" ")
    : "";

/**
 * Names between commas; a comma within a name stays: some families call servers <0,1>. None: all
 * servers.
 */
export function namesOf(text: string): string[] | undefined {
  const names = text
    .split(/,(?![^<[(]*[>\])])/)
    .map((name) => name.trim())
    .filter(Boolean);
  return names.length > 0 ? names : undefined;
}

/** Parses NAME=VALUE, one per line. A line without an equals sign is a name without a value. */
export function variablesOf(text: string): JsonObject | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return undefined;
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1)];
    }),
  );
}

export const variableLines = (variables: Json | undefined): string =>
  isObject(variables)
    ? Object.entries(variables)
        .map(([name, value]) => `${name}=${String(value)}`)
        .join("\n")
    : "";
