/** A setting of a run in words: its name without the unit, and its value with it. */
import { formatShort, THIN_GAP } from "@/units";

export interface SettingText {
  label: string;
  value: string;
}

const TIMES: readonly (readonly [number, string])[] = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];

/** 0.00006 is "60 µs". */
export function formatSecs(secs: number): string {
  const [factor, unit] = TIMES.find(([least]) => Math.abs(secs) >= least) ?? [1, "s"];
  return `${formatShort(secs / factor, 3)}${THIN_GAP}${unit}`;
}

/**
 * Units of time in the endings of names, and the format of their numbers. Counts keep their name.
 */
const UNITS: readonly (readonly [string, (value: number) => string])[] = [
  ["secs", formatSecs],
  ["ps", (value) => formatSecs(value * 1e-12)],
];

/**
 * `hop_delay_secs` and 0.00006 are "hop delay" and "60 µs"; `queue_bytes` and 12160 are "queue
 * bytes" and "12,160".
 */
export function settingText(name: string, value: unknown): SettingText {
  const words = name.split("_");
  const label = (all: string[]) => all.join(" ");
  if (typeof value === "boolean") return { label: label(words), value: value ? "yes" : "no" };
  if (typeof value !== "number") return { label: label(words), value: String(value) };
  const unit = UNITS.find(([end]) => end === words.at(-1));
  if (!unit || words.length === 1) return { label: label(words), value: formatShort(value, 6) };
  return { label: label(words.slice(0, -1)), value: unit[1](value) };
}
