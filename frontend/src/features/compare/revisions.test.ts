import { expect, test } from "vitest";
import { cablesText, placesText, revisionsOf } from "./revisions";

const at = (id: string, revision?: number) => ({ ref: `${id}@${revision}`, id, revision });

test("two revisions of one plan are compared as the other one since the base", () => {
  expect(revisionsOf([at("a", 1), at("a", 3)], 0)).toEqual({ id: "a", earlier: 1, revision: 3 });
  expect(revisionsOf([at("a", 1), at("a", 3)], 1)).toEqual({ id: "a", earlier: 3, revision: 1 });
  expect(revisionsOf([at("a", 1), at("b", 1)], 0)).toBeNull();
  expect(revisionsOf([at("a", 1), at("a")], 0)).toBeNull();
  expect(revisionsOf([at("a", 1), at("a", 2), at("a", 3)], 0)).toBeNull();
  expect(revisionsOf([{ ref: "ex.tree" }, { ref: "ex.bcube" }], 0)).toBeNull();
});

test("what changed is counted and named", () => {
  const none = { count: 0, names: [] };
  expect(placesText({ added: none, removed: none, moved: none })).toBe("unchanged");
  const many = { count: 1200, names: ["a", "b", "c", "d", "e", "f", "g"] };
  expect(placesText({ added: many, removed: none, moved: { count: 1, names: ["R00"] } })).toBe(
    "1,200 added (a, b, c, d, e, f, …), 1 moved (R00)",
  );
  expect(cablesText({ keep: 4, move: 28, add: 18, remove: 0 })).toBe("18 added, 28 moved, 4 kept");
  expect(cablesText({ keep: 32, move: 0, add: 0, remove: 0 })).toBe("unchanged");
});
