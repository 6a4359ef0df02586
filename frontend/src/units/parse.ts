/** Text from a person to a number in SI, and cable, rack and device names to indices. */

/** How many SI units one of each suffix is, by quantity. */
const SUFFIXES = {
  metres: { m: 1, cm: 0.01, mm: 0.001, km: 1000, ft: 0.3048, in: 0.0254 },
  watts: { w: 1, kw: 1000, mw: 1e6 },
  kilograms: { kg: 1, g: 0.001, t: 1000, lb: 0.45359237 },
  gbps: { "gb/s": 1, gbps: 1, g: 1, "mb/s": 0.001, mbps: 0.001, m: 0.001, "tb/s": 1000, tbps: 1000, t: 1000 },
  usd: { $: 1, usd: 1 },
  share: { "%": 0.01 },
  none: {},
} as const satisfies Record<string, Record<string, number>>;

export type Quantity = keyof typeof SUFFIXES;

export type Parsed = { ok: true; value: number } | { ok: false; message: string };

/**
 * "1,5 km", "40 ft", "$92,340", "61 %", "−3" to SI. A bare number is in the quantity's own unit.
 */
export function parseQuantity(text: string, quantity: Quantity = "none"): Parsed {
  const clean = text
    .trim()
    .replaceAll("\u2212", "-")
    .replace(/^([+-]?)\$/, "$1");
  if (clean === "") return { ok: false, message: "Type a number." };
  const match = /^([+-]?[\d.,\u00a0 ]*\d\.?)(e[+-]?\d+)?\s*([a-z/%$]*)$/i.exec(clean);
  if (!match) return { ok: false, message: `"${text.trim()}" is not a number.` };
  const number = Number(plainDigits(match[1]!) + (match[2] ?? ""));
  if (!Number.isFinite(number)) return { ok: false, message: `"${text.trim()}" is not a number.` };
  const suffix = match[3]!.toLowerCase();
  if (suffix === "") return { ok: true, value: number };
  const units: Record<string, number> = SUFFIXES[quantity];
  const factor = Object.hasOwn(units, suffix) ? units[suffix] : undefined;
  if (factor === undefined) {
    const allowed = Object.keys(units);
    const hint = allowed.length === 0 ? "a bare number" : `one of ${allowed.join(", ")}`;
    return { ok: false, message: `Unit "${match[3]}" does not fit here; use ${hint}.` };
  }
  return { ok: true, value: number * factor };
}

/** Drops grouping; one comma before anything but three digits is a decimal comma ("1,5"). */
function plainDigits(text: string): string {
  const tight = text.replace(/[\u00a0 ]/g, "");
  if (/^[+-]?\d+,\d+$/.test(tight) && !/,\d{3}$/.test(tight)) return tight.replace(",", ".");
  return tight.replaceAll(",", "");
}

/** "C02816", "c2816" or "2816" to 2816. */
export function parseCableName(text: string): number | null {
  const match = /^c?(\d{1,9})$/i.exec(text.trim());
  return match ? Number(match[1]) : null;
}

/** Cable index to the name used in every table, label and export [ours]. */
export function cableName(index: number): string {
  return `C${String(index).padStart(5, "0")}`;
}
