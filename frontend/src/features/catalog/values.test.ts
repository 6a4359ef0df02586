import { expect, test } from "vitest";
import type { Part } from "@/api/types";
import {
  editsOf,
  editText,
  parseValue,
  priceText,
  titleOf,
  valueRows,
  weightText,
  withEdits,
} from "./values";

const part: Part = {
  sku: "X",
  kind: "switch",
  name: "X",
  manufacturer: "m",
  attributes: { ports: 8, lengths_metres: [1, 2], needs_transceiver: false, connector: "rj45" },
  price_usd: 40,
  power_watts: null,
  weight_kg: null,
  sources: {
    price_usd: { source: "[bcube §8]", date: "2009-08-17", basis: "published" },
    "*": { source: "guess", date: null, basis: "assumed" },
  },
};

test("each value has its own source, or the part's; an unknown value has none", () => {
  const rows = new Map(valueRows(part, "USD").map((row) => [row.field, row]));
  expect(rows.get("price_usd")?.source?.basis).toBe("published");
  expect(rows.get("ports")?.source?.basis).toBe("assumed");
  expect(rows.get("power_watts")).toMatchObject({ text: "unknown", source: null });
});

test.each([[8], [0.5], [[1, 2.5]], [true], [false], ["rj45"], [null]])("%j edits back to itself", (value) => {
  expect(parseValue(editText(value), value)).toEqual(value);
});

test("what cannot be read is refused, not guessed", () => {
  expect(parseValue("x", 8)).toBeUndefined();
  expect(parseValue("-1", 8)).toBeUndefined();
  expect(parseValue("1, x", [1])).toBeUndefined();
  expect(parseValue("maybe", true)).toBeUndefined();
});

test("edits are the fields whose text says something else than before", () => {
  const rows = valueRows(part, "USD");
  expect(editsOf(rows, {})).toEqual({ edits: {}, wrong: [] });
  const unchanged = Object.fromEntries(rows.map(({ field, value }) => [field, editText(value)]));
  expect(editsOf(rows, unchanged)).toEqual({ edits: {}, wrong: [] });
  expect(editsOf(rows, { ...unchanged, ports: "16", price_usd: "cheap", power_watts: "7" })).toEqual({
    edits: { ports: 16, power_watts: 7 },
    wrong: ["price_usd"],
  });
});

test("an edit names its own source and leaves the others and the original alone", () => {
  const source = { source: "quote 17", date: "2026-01-02", basis: "vendor" as const };
  const next = withEdits(part, { price_usd: 41, ports: 16 }, source);
  expect(next).toMatchObject({ price_usd: 41, attributes: { ports: 16, connector: "rj45" } });
  expect(next.sources).toMatchObject({ price_usd: source, ports: source, "*": part.sources!["*"] });
  expect(part.price_usd).toBe(40);
  expect(part.attributes?.ports).toBe(8);
});

test("a price that stands elsewhere is not called missing; light parts are weighed in grams", () => {
  expect(priceText(part, "USD")).toBe("$40.00");
  expect(priceText({ ...part, price_usd: null }, "USD")).toBe("no price");
  expect(priceText({ ...part, price_usd: null, attributes: { length_prices_usd: [1] } }, "USD")).toBe(
    "by length",
  );
  expect(weightText(0.01)).toBe("10\u00a0g");
  expect(weightText(7.5)).toBe("7.5\u00a0kg");
});

test("field names read as words, without their unit", () => {
  expect(titleOf("length_prices_usd")).toBe("Length prices");
  expect(titleOf("bulk_price_usd_per_metre")).toBe("Bulk price");
  expect(titleOf("kg_per_metre")).toBe("Kg per metre");
});

test("a list of prices may lack some, and is edited as it is shown", () => {
  expect(editText([1.5, null, 3])).toBe("1.5, none, 3");
  expect(parseValue("1.5, none, 4", [1.5, null, 3])).toEqual([1.5, null, 4]);
  expect(parseValue("1.5, what, 4", [1.5, null, 3])).toBeUndefined();
  const row = valueRows({ ...part, attributes: { length_prices_usd: [2, null] } }, "USD").find(
    ({ field }) => field === "length_prices_usd",
  );
  expect(row?.text).toBe("2 · none");
});
