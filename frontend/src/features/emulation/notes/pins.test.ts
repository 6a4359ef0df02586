import { expect, test } from "vitest";
import type { Note } from "@/api/types";
import { pinsOf } from "./pins";

const at = (secs: number): Note =>
  ({
    id: `n${secs}`,
    at: "",
    anchor: { kind: "moment", name: null, ends: null, run: "r", at_secs: secs },
  }) as Note;
const shown = (notes: Note[], apart: number) =>
  pinsOf(notes, apart).map((pin) => [pin.at, pin.notes.map(({ anchor }) => anchor.at_secs)]);

test("pins that would touch are one, and no note is lost", () => {
  const notes = [at(9), at(1), at(1.5), at(2.5), at(1)];
  expect(shown(notes, 1)).toEqual([
    [1, [1, 1, 1.5]],
    [2.5, [2.5]],
    [9, [9]],
  ]);
  expect(shown(notes, 0).flatMap(([, seconds]) => seconds)).toHaveLength(5);
  expect(shown([], 1)).toEqual([]);
});

test("pins keep their minimum distance", () => {
  const pins = pinsOf(
    Array.from({ length: 100 }, (_, index) => at(index / 3)),
    4,
  );
  for (let index = 1; index < pins.length; index++)
    expect(pins[index]!.at - pins[index - 1]!.at).toBeGreaterThanOrEqual(4);
});
