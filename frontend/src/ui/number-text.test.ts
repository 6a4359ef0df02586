import { expect, test } from "vitest";
import { clampStep, numberHint, parseNumber } from "./number-text";

test.each([
  ["8", false, 8],
  [" 2,048 ", true, 2048],
  ["2 048", true, 2048],
  ["0.5", false, 0.5],
  [".5", false, 0.5],
  ["0.5", true, null],
  ["1,5", false, 1.5],
  ["2,5", true, null],
  ["0,125", false, 0.125],
  ["1.234,5", false, 1234.5],
  ["\u22122,5", false, -2.5],
  ["1,500", false, 1500],
  ["1,2,3", false, null],
  ["", false, null],
  ["-", false, null],
  ["8x", false, null],
  ["1e3", true, 1000],
  ["Infinity", false, null],
])("%j (integer: %s) reads as %s", (text, integer, value) => {
  expect(parseNumber(text, integer)).toBe(value);
});

test("stepping stays in range and stays clean", () => {
  expect(clampStep(0.1, 0.2)).toBe(0.3);
  expect(clampStep(8, 1, 2, 8)).toBe(8);
  expect(clampStep(2, -10, 2, 8)).toBe(2);
});

test.each([
  [{ integer: true, min: 2, max: 1024 }, "Type a whole number, 2 to 1,024."],
  [{ min: 0 }, "Type a number, 0 or more."],
  [{ max: 0.5, optional: true }, "Type a number, 0.5 or less, or leave the field empty."],
  [{}, "Type a number."],
])("a field of %j shows what to type", (field, hint) => {
  expect(numberHint(field)).toBe(hint);
});
