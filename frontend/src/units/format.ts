/**
 * Numbers to text. Always the same text for the same number (no locale, no clock); set them with
 * `font-variant-numeric: tabular-nums`. Every function takes `null`, `undefined` and NaN and gives
 * an en dash.
 */
import { MINUS, THIN_GAP, UNKNOWN } from "./constants";

export type Maybe = number | null | undefined;

function known(value: Maybe): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Digits grouped by comma: 8192 is "8,192"; `decimals` are kept, so that a column lines up. */
export function formatNumber(value: Maybe, decimals = 0): string {
  if (!known(value)) return UNKNOWN;
  const text = Math.abs(value).toFixed(decimals);
  const [whole, part] = text.split(".") as [string, string | undefined];
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  const negative = value < 0 && Number(text) !== 0;
  return `${negative ? MINUS : ""}${grouped}${part === undefined ? "" : `.${part}`}`;
}

export const formatCount = (value: Maybe): string => formatNumber(value, 0);

/** Up to `decimals` places, without trailing zeros: 4.50 is "4.5", 4.00 is "4". */
export function formatShort(value: Maybe, decimals = 2): string {
  const text = formatNumber(value, decimals);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

const SI: readonly (readonly [number, string])[] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

/**
 * Three significant digits with an SI prefix: (8450, "W") is "8.45 kW". Below one it stays plain.
 */
export function formatSi(value: Maybe, unit: string): string {
  if (!known(value)) return UNKNOWN;
  if (value === 0) return `0${THIN_GAP}${unit}`;
  const size = Math.abs(value);
  // 999.6 W would round to "1,000 W": choose the prefix after rounding to three digits.
  const rounded = Number(size.toPrecision(3));
  const [factor, prefix] = SI.find(([f]) => rounded >= f) ?? [1, ""];
  const scaled = rounded / factor;
  const decimals = scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2;
  return `${value < 0 ? MINUS : ""}${formatNumber(scaled, decimals)}${THIN_GAP}${prefix}${unit}`;
}

/** 0.85 is "0.85 m", 9.4 is "9.4 m", 21437 is "21.4 km". */
export function formatMetres(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  const size = Math.abs(value);
  if (size >= 999.5) return `${formatNumber(value / 1000, size >= 99_950 ? 0 : 1)}${THIN_GAP}km`;
  return `${formatNumber(value, size >= 99.95 ? 0 : size >= 0.995 || value === 0 ? 1 : 2)}${THIN_GAP}m`;
}

export function formatMillimetres(value: Maybe): string {
  return known(value) ? formatMetres(value / 1000) : UNKNOWN;
}

export const formatWatts = (value: Maybe): string => formatSi(value, "W");

const TONNES_FROM_KG = 9_995;

export function formatKilograms(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  const size = Math.abs(value);
  if (size >= TONNES_FROM_KG) return `${formatNumber(value / 1000, 1)}${THIN_GAP}t`;
  return `${formatNumber(value, size >= 99.5 ? 0 : 1)}${THIN_GAP}kg`;
}

/** Kilograms in the unit that `like` is shown in: a change of a weight in tonnes is in tonnes. */
export function kilogramsLike(like: Maybe): (value: Maybe) => string {
  if (!known(like) || Math.abs(like) < TONNES_FROM_KG) return formatKilograms;
  return (value) =>
    known(value) ? `${formatShort(value / 1000, Math.abs(value) < 950 ? 3 : 1)}${THIN_GAP}t` : UNKNOWN;
}

/** Currencies with an unambiguous sign; the others are shown by their codes. */
const SIGNS: Record<string, string> = { USD: "$", EUR: "\u20ac", GBP: "\u00a3" };

/**
 * Money in the book's currency (ISO 4217); hundredths only below 100, as in a price list: "$40.00",
 * "CHF 1,250".
 */
export function formatMoney(value: Maybe, currency: string): string {
  if (!known(value)) return UNKNOWN;
  const text = formatNumber(Math.abs(value), Math.abs(value) < 100 ? 2 : 0);
  const mark = SIGNS[currency] ?? `${currency}\u00a0`;
  return `${value < 0 && Number(text.replaceAll(",", "")) !== 0 ? MINUS : ""}${mark}${text}`;
}

/** `formatMoney` for amounts of one currency. */
export const moneyIn =
  (currency: string) =>
  (value: Maybe): string =>
    formatMoney(value, currency);

export const formatBitsPerSec = (value: Maybe): string => formatSi(value, "b/s");

/** Gigabits as the field writes them: 1 is "1 Gb/s", 1024 is "1,024 Gb/s", 0.1 is "100 Mb/s". */
export function formatGbps(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  if (value !== 0 && Math.abs(value) < 1) return `${formatShort(value * 1000, 1)}${THIN_GAP}Mb/s`;
  return `${formatShort(value, 2)}${THIN_GAP}Gb/s`;
}

/** Gigabits in the unit that `like` is shown in: a change of a rate in Gb/s is in Gb/s. */
export function gbpsLike(like: Maybe): (value: Maybe) => string {
  if (!known(like) || Math.abs(like) < 1) return formatGbps;
  return (value) => (known(value) ? `${formatShort(value, 2)}${THIN_GAP}Gb/s` : UNKNOWN);
}

/** A share 0..1 as a percentage: 0.61 is "61 %". */
export function formatPercent(share: Maybe, decimals = 0): string {
  return known(share) ? `${formatNumber(share * 100, decimals)}${THIN_GAP}%` : UNKNOWN;
}

export function formatMinutes(minutes: Maybe): string {
  if (!known(minutes)) return UNKNOWN;
  const whole = Math.round(Math.abs(minutes));
  const sign = minutes < 0 && whole > 0 ? MINUS : "";
  if (whole < 60) return `${sign}${whole}${THIN_GAP}min`;
  const hours = Math.floor(whole / 60);
  const rest = whole % 60;
  return `${sign}${formatNumber(hours)}${THIN_GAP}h${rest === 0 ? "" : `${THIN_GAP}${rest}${THIN_GAP}min`}`;
}

/**
 * A change with its sign, through the quantity's own format: (410, moneyIn("USD")) is "+$410"; none
 * is "±0".
 */
export function formatDelta(change: Maybe, format: (value: Maybe) => string = formatCount): string {
  if (!known(change)) return UNKNOWN;
  if (change === 0) return "\u00b10";
  return `${change > 0 ? "+" : MINUS}${format(Math.abs(change))}`;
}

/**
 * The difference of two shares in percentage points, of the shares as they are shown: "−9 points".
 */
export function formatPoints(value: number, base: number, decimals = 0): string {
  const steps = 10 ** decimals;
  const shown = (share: number) => Math.round(share * 100 * steps);
  const points = (shown(value) - shown(base)) / steps;
  return `${formatDelta(points, (n) => formatShort(n, decimals))} ${Math.abs(points) === 1 ? "point" : "points"}`;
}

/** The change from a base as a percentage; from zero there is none. */
export function formatRelative(value: Maybe, base: Maybe): string {
  if (!known(value) || !known(base) || base === 0) return UNKNOWN;
  return formatDelta(value / base - 1, (share) => formatPercent(share, 1));
}

/** Formats "256 of 8,192". */
export function formatShare(part: number, whole: number): string {
  return `${formatCount(part)} of ${formatCount(whole)}`;
}

/** "1 cable", "2 cables". */
export function plural(count: number, singular: string, many = `${singular}s`): string {
  return `${formatCount(count)} ${count === 1 ? singular : many}`;
}

/** A file's size: 40960 is "41 KB", decimal as file managers and download bars count. */
export function formatBytes(bytes: Maybe): string {
  if (!known(bytes)) return UNKNOWN;
  if (Math.abs(bytes) < 1000) return `${formatNumber(bytes)}${THIN_GAP}B`;
  const size = Math.abs(bytes);
  const [factor, unit] =
    size < 999_500
      ? ([1e3, "KB"] as const)
      : size < 9.995e9
        ? ([1e6, "MB"] as const)
        : ([1e9, "GB"] as const);
  const scaled = bytes / factor;
  return `${formatNumber(scaled, Math.abs(scaled) < 9.95 ? 1 : 0)}${THIN_GAP}${unit}`;
}
