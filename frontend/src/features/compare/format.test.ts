import { expect, test } from "vitest";
import { differenceText, formatterOf } from "./format";

/** "12.5 %" as tenths of a per cent. */
const tenths = (text: string) => Math.round(Number(text.replace(/[^\d.]/g, "")) * 10);

test("shares differ in percentage points, other quantities in their unit and relative to the base", () => {
  expect(differenceText("tray_peak_fill", "", 0.15, 0.24)).toBe("−9 points");
  expect(differenceText("cut_off_switch", "share", 0.01, 0)).toBe("+1 point");
  expect(differenceText("power_total_watts", "W", 1500, 1000)).toMatch(/^\+500.*W \(\+50.*%\)$/);
  expect(differenceText("abt", "Gb/s", 4, 0)).not.toContain("(");
  expect(differenceText("abt", "Gb/s", null, 1)).toBe("");
});

test("the points are the difference of the two shares as they are shown", () => {
  const format = formatterOf("tray_peak_fill", "");
  // A step without a common measure with tenths of a per cent reaches every rounding.
  const shares = Array.from({ length: 400 }, (_, at) => (at * 0.618_033_988_7) % 1);
  for (const [at, value] of shares.entries()) {
    const base = shares[(at * 7) % shares.length]!;
    const text = differenceText("tray_peak_fill", "", value, base);
    const points = text.startsWith("±") ? 0 : tenths(text) * (text.startsWith("−") ? -1 : 1);
    expect(points).toBe(tenths(format(value)) - tenths(format(base)));
  }
});
