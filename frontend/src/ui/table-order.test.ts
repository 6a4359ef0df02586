import { expect, test } from "vitest";
import { csvOf, natural, orderRows } from "./table-order";

test("rows sort by key, ties keep their order, nulls last both ways", () => {
  const keys = [3, null, 1, 3, 2];
  const key = (row: number) => keys[row] ?? null;
  expect(orderRows([0, 1, 2, 3, 4], key, false)).toEqual([2, 4, 0, 3, 1]);
  expect(orderRows([0, 1, 2, 3, 4], key, true)).toEqual([0, 3, 4, 2, 1]);
});

test("names with numbers sort as people do", () => {
  const names = ["R10", "R2", "R02", "<1,003>", "<1,02>"];
  expect([...names].sort(natural)).toEqual(["<1,02>", "<1,003>", "R2", "R02", "R10"]);
});

test("a CSV quotes, and disarms formulas but not numbers", () => {
  expect(
    csvOf(
      ["a", "b"],
      [
        ['x,"y"', "=1+1"],
        ["-3.5", "-cmd"],
      ],
    ),
  ).toBe('a,b\r\n"x,""y""",\'=1+1\r\n-3.5,\'-cmd\r\n');
});
