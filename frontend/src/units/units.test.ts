import { describe, expect, it } from "vitest";
import {
  cableName,
  contrast,
  cssVariables,
  DARK,
  formatDelta,
  formatGbps,
  formatKilograms,
  formatMetres,
  formatMinutes,
  formatMoney,
  formatNumber,
  formatPercent,
  formatPoints,
  formatRelative,
  formatShort,
  formatSi,
  formatWatts,
  gbpsLike,
  inkOn,
  kilogramsLike,
  LIGHT,
  levelDashPx,
  luminance,
  moneyIn,
  parseCableName,
  parseHex,
  parseQuantity,
  RAMP_STEPS,
  rampColour,
  rampStep,
  toHex,
} from "./index";

/** A small seeded generator (mulberry32): properties are checked on the same numbers every run. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

describe("format", () => {
  it("writes the golden table", () => {
    expect([
      formatNumber(8192),
      formatNumber(-1234567.891, 2),
      formatNumber(-0.001, 1),
      formatShort(4.5),
      formatShort(100),
      formatSi(8450, "W"),
      formatSi(999.6, "W"),
      formatMetres(9.4),
      formatMetres(0.5),
      formatMetres(21437),
      formatMetres(999.7),
      formatWatts(273_000),
      formatKilograms(812.4),
      formatKilograms(24_000),
      formatMoney(92340, "USD"),
      formatMoney(-1.9, "USD"),
      formatGbps(1024),
      formatGbps(0.1),
      formatPercent(0.61),
      formatMinutes(135),
      formatDelta(410, moneyIn("USD")),
      formatDelta(-1.2, formatMetres),
      formatDelta(0),
      formatRelative(110, 100),
      formatNumber(null),
      formatMetres(Number.NaN),
    ]).toMatchInlineSnapshot(`
      [
        "8,192",
        "−1,234,567.89",
        "0.0",
        "4.5",
        "100",
        "8.45 kW",
        "1.00 kW",
        "9.4 m",
        "0.50 m",
        "21.4 km",
        "1.0 km",
        "273 kW",
        "812 kg",
        "24.0 t",
        "$92,340",
        "−$1.90",
        "1,024 Gb/s",
        "100 Mb/s",
        "61 %",
        "2 h 15 min",
        "+$410",
        "−1.2 m",
        "±0",
        "+10.0 %",
        "–",
        "–",
      ]
    `);
  });

  it("reads back what it wrote, within its own rounding", () => {
    const next = random(7);
    for (let i = 0; i < 500; i++) {
      const metres = 10 ** (next() * 7 - 1);
      const back = parseQuantity(formatMetres(metres), "metres");
      expect(back.ok ? Math.abs(back.value / metres - 1) : Infinity).toBeLessThan(0.06);
      const usd = Math.round((next() - 0.3) * 1e7) / 100;
      const price = parseQuantity(formatMoney(usd, "USD"), "usd");
      expect(price.ok ? Math.abs(price.value - usd) : Infinity).toBeLessThanOrEqual(0.5);
    }
  });
});

describe("parse", () => {
  it("takes units, grouping, decimal comma and the true minus", () => {
    expect(parseQuantity("40 ft", "metres")).toEqual({ ok: true, value: 40 * 0.3048 });
    expect(parseQuantity("1,5", "metres")).toEqual({ ok: true, value: 1.5 });
    expect(parseQuantity("$92,340", "usd")).toEqual({ ok: true, value: 92340 });
    expect(parseQuantity("\u22123")).toEqual({ ok: true, value: -3 });
    expect(parseQuantity("1e3")).toEqual({ ok: true, value: 1000 });
  });

  it("names the wrong unit and the right ones", () => {
    const wrong = parseQuantity("3 kg", "metres");
    expect(wrong.ok).toBe(false);
    expect(!wrong.ok && wrong.message).toContain('"kg"');
    expect(!wrong.ok && wrong.message).toContain("km");
    expect(parseQuantity("constructor", "metres").ok).toBe(false);
    expect(parseQuantity("3 constructor", "metres").ok).toBe(false);
    expect(parseQuantity("").ok).toBe(false);
  });

  it("round-trips cable names", () => {
    for (const index of [0, 7, 2816, 99_999, 1_234_567]) expect(parseCableName(cableName(index))).toBe(index);
    expect(parseCableName("R07")).toBeNull();
  });
});

describe("colour", () => {
  it("round-trips hex", () => {
    expect(toHex(parseHex("#3A6C86"))).toBe("#3a6c86");
    expect(() => parseHex("red")).toThrow("#RRGGBB");
  });

  it("gives a ramp whose lightness only grows, with readable text on every step", () => {
    for (let step = 0; step < RAMP_STEPS; step++) {
      const colour = rampColour(step);
      if (step > 0) expect(luminance(colour)).toBeGreaterThan(luminance(rampColour(step - 1)));
      expect(contrast(colour, inkOn(colour))).toBeGreaterThanOrEqual(4.5);
    }
    expect(rampStep(0)).toBe(0);
    expect(rampStep(1)).toBe(RAMP_STEPS - 1);
    expect(rampStep(Number.NaN)).toBe(0);
  });

  it("keeps text at AA and marks at 3 to 1 in both themes", () => {
    for (const theme of [LIGHT, DARK]) {
      for (const ground of [theme.background, theme.panel, theme.well]) {
        for (const text of [theme.ink, theme.muted, theme.good, theme.bad, theme.warning, theme.accent])
          expect(contrast(text, ground)).toBeGreaterThanOrEqual(4.5);
        expect(contrast(theme.selection, ground)).toBeGreaterThanOrEqual(3);
        expect(contrast(theme.failed, ground)).toBeGreaterThanOrEqual(3);
      }
      expect(contrast(theme.onAccent, theme.accent)).toBeGreaterThanOrEqual(4.5);
    }
  });

  it("gives six levels six colours and six dash patterns", () => {
    for (const theme of [LIGHT, DARK]) expect(new Set(theme.levels).size).toBe(6);
    expect(new Set([0, 1, 2, 3, 4, 5].map((level) => levelDashPx(level).join())).size).toBe(6);
    expect(cssVariables(LIGHT)["--level-3"]).toBe("#432B4C");
    expect(cssVariables(LIGHT)["--accent-soft"]).toBe(LIGHT.accentSoft);
  });
});

it("shares differ in the points between them as they are shown", () => {
  expect([formatPoints(0.146, 0.243), formatPoints(0.146, 0.243, 1), formatPoints(0.01, 0)]).toEqual([
    "−9 points",
    "−9.7 points",
    "+1 point",
  ]);
  expect(formatPoints(0.5, 0.5)).toBe("±0 points");
});

it("a change is in the unit of what changed", () => {
  expect(formatDelta(-1895, kilogramsLike(26_800))).toBe("\u22121.9\u00a0t");
  expect(formatDelta(3, kilogramsLike(26_800))).toBe("+0.003\u00a0t");
  expect(formatDelta(-1895, kilogramsLike(9_000))).toBe("\u22121,895\u00a0kg");
  expect(formatDelta(0.5, gbpsLike(12))).toBe("+0.5\u00a0Gb/s");
  expect(formatDelta(0.5, gbpsLike(0.9))).toBe("+500\u00a0Mb/s");
});
