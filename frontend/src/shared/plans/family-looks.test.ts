import { expect, test } from "vitest";
import { familyLooks } from "./family-looks";

test("a family has the same look whatever it is compared with, in whatever order", () => {
  expect(familyLooks(["BCube(8,3)", "Fat-tree(8,5)", "DCell(8,2)"])).toEqual([0, 3, 1]);
  expect(familyLooks(["Fat-tree", "BCube"])).toEqual([3, 0]);
  expect(familyLooks(["DCell", "two-level tree"])).toEqual([1, 4]);
});

test("a second plan of a family has a look that no other has", () => {
  const looks = familyLooks(["BCube(8,3)", "BCube(8,2)", "DCell(8,2)", "DCell(4,2)"]);
  expect([looks[0], looks[2]]).toEqual([0, 1]);
  expect(new Set(looks).size).toBe(4);
});

test("series of one family, or of none, count up", () => {
  expect(familyLooks(["BCube(8,3)", "BCube(8,2)"])).toEqual([0, 1]);
  expect(familyLooks(["l = 8", "l = 16", "l = 48"])).toEqual([0, 1, 2]);
});
