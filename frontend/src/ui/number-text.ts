import { formatShort } from "@/units";

/** `2,5` and `1.234,5` with a decimal point. `1,500` is not touched: its comma groups. */
const withPoint = (text: string): string =>
  /^[-+]?(\d{1,3}(\.\d{3})+,\d+|0,\d+|\d*,(\d{1,2}|\d{4,}))$/.test(text)
    ? text.replaceAll(".", "").replace(",", ".")
    : text;

/**
 * The number a person typed, or null when it is not one: spaces, group commas and a decimal comma
 * are fine, `integer` refuses fractions.
 */
export function parseNumber(text: string, integer = false): number | null {
  const typed = text.trim().replaceAll("\u2212", "-"); // the minus of the page's own numbers
  const plain = withPoint(typed).replace(/(?<=\d)[,\s\u00a0\u202f](?=\d{3}(\D|$))/g, "");
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain)) return null;
  const value = Number(plain);
  if (!Number.isFinite(value) || (integer && !Number.isInteger(value))) return null;
  return value;
}

/** The hint of a number field: "Type a whole number, 2 to 1,024." */
export function numberHint({
  integer,
  min,
  max,
  optional,
}: {
  integer?: boolean;
  min?: number | null;
  max?: number | null;
  optional?: boolean;
}): string {
  const [low, high] = [min ?? null, max ?? null].map((bound) =>
    bound === null ? null : formatShort(bound, 3),
  );
  const range =
    low !== null && high !== null
      ? `, ${low} to ${high}`
      : low !== null
        ? `, ${low} or more`
        : high !== null
          ? `, ${high} or less`
          : "";
  return `Type a ${integer ? "whole number" : "number"}${range}${optional ? ", or leave the field empty" : ""}.`;
}

/** `value + by` inside [min, max], without floating-point dust (0.1 + 0.2 is 0.3). */
export function clampStep(value: number, by: number, min?: number | null, max?: number | null): number {
  const next = Number((value + by).toPrecision(12));
  return Math.min(max ?? Number.POSITIVE_INFINITY, Math.max(min ?? Number.NEGATIVE_INFINITY, next));
}
