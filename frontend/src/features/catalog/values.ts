/** A part's values as rows, each with its source. */
import type { Part } from "@/api/types";
import { formatKilograms, formatMoney, formatShort, formatWatts } from "@/units";

export interface ValueRow {
  /** As in the part: `price_usd`, or the attribute's name. */
  field: string;
  attribute: boolean;
  title: string;
  value: unknown;
  text: string;
  unit: string;
  source: { source: string; date?: string | null; basis: string } | null;
}

/** A placeholder for the book's currency in a unit. */
const MONEY = "\u00a4";

const UNITS: [suffix: string, unit: string][] = [
  ["_usd_per_metre", `${MONEY}/m`],
  ["_usd_per_hour", `${MONEY}/h`],
  ["kg_per_metre", "kg/m"],
  ["_usd", MONEY],
  ["_watts", "W"],
  ["_kg", "kg"],
  ["_gbps", "Gb/s"],
  ["_metres", "m"],
  ["_mm", "mm"],
  ["_minutes", "min"],
];

/** A length without a price, in a list of prices. */
const NONE = "none";

export function unitOf(field: string, currency: string): string {
  const unit = UNITS.find(([suffix]) => field.endsWith(suffix))?.[1] ?? "";
  return unit.replace(MONEY, currency);
}

/** `length_prices_usd` is "Length prices". */
export function titleOf(field: string): string {
  const suffix = UNITS.find(([s]) => s.startsWith("_") && field.endsWith(s))?.[0] ?? "";
  const words = field.slice(0, field.length - suffix.length).replaceAll("_", " ");
  return words[0]!.toUpperCase() + words.slice(1);
}

function textOf(field: string, value: unknown, currency: string): string {
  if (value === null || value === undefined) return "unknown";
  if (Array.isArray(value))
    return value.map((v) => (typeof v === "number" ? formatShort(v, 2) : String(v ?? NONE))).join(" · ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return typeof value === "object" ? JSON.stringify(value) : String(value);
  if (field === "power_watts") return formatWatts(value);
  if (field === "weight_kg") return weightText(value);
  const unit = unitOf(field, currency);
  return `${formatShort(value, 3)}${unit ? `\u00a0${unit}` : ""}`;
}

/** Small weights are shown in grams: a plug would show as "0.0 kg". */
export function weightText(kg: number | null | undefined): string {
  return typeof kg === "number" && kg > 0 && kg < 0.1
    ? `${formatShort(kg * 1000, 1)}\u00a0g`
    : formatKilograms(kg);
}

/** Cables are priced by length, labour by the hour: the one price is then elsewhere. */
export function priceText(part: Part, currency: string): string {
  if (part.price_usd !== null && part.price_usd !== undefined) return formatMoney(part.price_usd, currency);
  const attributes = part.attributes ?? {};
  if (Array.isArray(attributes.length_prices_usd)) return "by length";
  if (Object.keys(attributes).some((name) => name.includes("usd_per"))) return "by rate";
  return "no price";
}

/** The source of one field: its own, else the part's `*`. */
export function sourceOf(part: Part, field: string): ValueRow["source"] {
  return part.sources?.[field] ?? part.sources?.["*"] ?? null;
}

export function valueRows(part: Part, currency: string): ValueRow[] {
  const row = (field: string, value: unknown, attribute: boolean): ValueRow => ({
    field,
    attribute,
    title: titleOf(field),
    value,
    text: textOf(field, value, currency),
    unit: unitOf(field, currency),
    source: value === null || value === undefined ? null : sourceOf(part, field),
  });
  const price = row("price_usd", part.price_usd, false);
  return [
    { ...price, text: priceText(part, currency) },
    row("power_watts", part.power_watts, false),
    row("weight_kg", part.weight_kg, false),
    ...Object.entries(part.attributes ?? {}).map(([field, value]) => row(field, value, true)),
  ];
}

/**
 * Reads an edited value back as the kind it had: numbers, lists of numbers, booleans and text.
 * Undefined if unreadable.
 */
export function parseValue(text: string, before: unknown): unknown {
  const trimmed = text.trim();
  if (Array.isArray(before)) {
    const parts = trimmed.split(/[\s,·;]+/).filter(Boolean);
    if (before.every((v) => typeof v === "number" || v === null)) {
      const values = parts.map((part) => (part === NONE ? null : Number(part)));
      return values.every((value) => value === null || Number.isFinite(value)) ? values : undefined;
    }
    return parts;
  }
  if (typeof before === "boolean") return trimmed === "yes" ? true : trimmed === "no" ? false : undefined;
  if (typeof before === "number" || before === null || before === undefined) {
    if (trimmed === "") return null;
    const number = Number(trimmed.replaceAll(",", ""));
    return Number.isFinite(number) && number >= 0 ? number : undefined;
  }
  return trimmed;
}

export function editText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map((v) => v ?? NONE).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

/**
 * Parses the typed texts by field: the values of changed fields, and the fields that cannot be
 * parsed.
 */
export function editsOf(
  rows: readonly Pick<ValueRow, "field" | "value">[],
  texts: Readonly<Record<string, string>>,
): { edits: Record<string, unknown>; wrong: string[] } {
  const edits: Record<string, unknown> = {};
  const wrong: string[] = [];
  for (const { field, value: before } of rows) {
    const text = texts[field];
    if (text === undefined || text === editText(before)) continue;
    const value = parseValue(text, before);
    if (value === undefined) wrong.push(field);
    else edits[field] = value;
  }
  return { edits, wrong };
}

/** The part with its edits, each edited field with the new source. */
export function withEdits(
  part: Part,
  edits: Record<string, unknown>,
  source: { source: string; date: string; basis: "published" | "vendor" | "assumed" },
): Part {
  const next: Part = { ...part, attributes: { ...part.attributes }, sources: { ...part.sources } };
  for (const [field, value] of Object.entries(edits)) {
    if (field === "price_usd" || field === "power_watts" || field === "weight_kg")
      next[field] = value as number | null;
    else next.attributes![field] = value;
    next.sources![field] = source;
  }
  return next;
}
