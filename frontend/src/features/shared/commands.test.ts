import { expect, test } from "vitest";
import { chordOf, matchScore } from "./commands";

const press = (key: string, held: Partial<KeyboardEvent> = {}) =>
  chordOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held } as KeyboardEvent);

test("chords are named the same whatever is held for printing", () => {
  expect(press("z", { ctrlKey: true })).toBe("mod+z");
  expect(press("Z", { ctrlKey: true, shiftKey: true })).toBe("mod+shift+z");
  expect(press("?", { shiftKey: true })).toBe("?");
  expect(press("Escape")).toBe("Escape");
});

test("every word must match, and a word's beginning matches better", () => {
  expect(matchScore("Export XLSX workbook", "xl exp")).not.toBeNull();
  expect(matchScore("Export XLSX workbook", "pdf")).toBeNull();
  expect(matchScore("Matrix view", "mat")!).toBeGreaterThan(matchScore("Export format", "mat")!);
  expect(matchScore("Anything", "")).toBe(0);
});
