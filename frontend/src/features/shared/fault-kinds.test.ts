import { expect, test } from "vitest";
import { faultName } from "./fault-kinds";

test("faults are counted in one row, scheduled ones first; no fault is called like a level", () => {
  expect(["f1", "f2", "l1", "l2"].map((id) => faultName(id, 2))).toEqual(["F1", "F2", "F3", "F4"]);
  expect(["l1", "l12"].map((id) => faultName(id, 0))).toEqual(["F1", "F12"]);
  expect(faultName("something", 3)).toBe("something");
});
