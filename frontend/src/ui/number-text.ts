/** The number a person typed, or null when it is not one: spaces and group commas are fine, `integer` refuses fractions. */
export function parseNumber(text: string, integer = false): number | null {
  const plain = text.trim().replace(/(?<=\d)[,\s\u00a0\u202f](?=\d{3}(\D|$))/g, "");
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain)) return null;
  const value = Number(plain);
  if (!Number.isFinite(value) || (integer && !Number.isInteger(value))) return null;
  return value;
}

/** `value + by` inside [min, max], without floating-point dust (0.1 + 0.2 is 0.3). */
export function clampStep(value: number, by: number, min?: number | null, max?: number | null): number {
  const next = Number((value + by).toPrecision(12));
  return Math.min(max ?? Number.POSITIVE_INFINITY, Math.max(min ?? Number.NEGATIVE_INFINITY, next));
}
