import { expect, test } from "vitest";
import type { FigureResult } from "@/api/types";
import {
  bandText,
  groupByPaper,
  linesOf,
  sourceParts,
  summaryText,
  unitText,
  valueText,
  verdictCounts,
} from "./figures";

test("a result is summed up by its verdicts; without one it was not run", () => {
  const ran = { result_run: "0a1b2c3d4e5f6g", verdicts: { matches: 11, "within band": 1, differs: 0 } };
  expect(verdictCounts(ran)).toEqual([
    { verdict: "matches", count: 11 },
    { verdict: "within band", count: 1 },
    { verdict: "differs", count: 0 },
  ]);
  expect(summaryText(ran)).toBe("11 match, 1 within band");
  expect(summaryText({ ...ran, verdicts: { matches: 1, differs: 2 } })).toBe("1 matches, 2 differ");
  expect(verdictCounts({ result_run: null, verdicts: {} })).toBeNull();
  expect(summaryText({ result_run: null, verdicts: {} })).toBe("not run");
});

test("figures stand under their paper, in the order they came", () => {
  expect(sourceParts("[bcube §8, Table 2]")).toEqual({ paper: "bcube", place: "§8, Table 2" });
  expect(sourceParts("[new]")).toEqual({ paper: "new", place: "" });
  const groups = groupByPaper([
    { id: "a", source: "[bcube §8]" },
    { id: "b", source: "[dcell §6]" },
    { id: "c", source: "[bcube §5.2]" },
    { id: "d", source: "[other §1]" },
  ]);
  expect(groups.map((g) => [g.name, g.items.map((i) => i.id).join("")])).toEqual([
    ["BCube", "ac"],
    ["DCell", "b"],
    ["other", "d"],
  ]);
});

test("numbers keep the digits that a comparison needs", () => {
  expect(valueText(175.88897621506248)).toBe("175.9");
  expect(valueText(1280)).toBe("1,280");
  expect(valueText(0.60941)).toBe("0.6094");
  expect(valueText(0)).toBe("0");
  expect(valueText(null)).toBe("–");
  expect(bandText(1279.5, 1280.5)).toBe("1,279.5 to 1,280.5");
  expect(bandText(79.8, 148.20000000000002)).toBe("79.8 to 148.2");
  expect(unitText("cm2")).toBe("cm²");
});

test("a line leaves out what is unknown, has a band where seeds differ, and steps over time", () => {
  const result: FigureResult & Record<string, unknown> = {
    id: "f",
    title: "F",
    rows: [],
    axes: { x: "time (s)", y: "rate" },
    series: [
      { name: "A", x: [0, 1, 2], y: [4, null, 2], deviation: [1, 1, 0] } as FigureResult["series"][number],
    ],
  };
  expect(linesOf(result)).toEqual([
    {
      id: "0 A",
      label: "A",
      points: [
        { x: 0, y: 4 },
        { x: 2, y: 2 },
      ],
      band: [
        { x: 0, low: 3, high: 5 },
        { x: 2, low: 2, high: 2 },
      ],
      steps: true,
    },
  ]);
  expect(linesOf({ ...result, axes: { x: "share", y: "ABT" } } as FigureResult)[0]).not.toHaveProperty(
    "steps",
  );
});

test("the paper's numbers are points without a line, over time too", () => {
  const paper = { name: "paper: A", x: [1], y: [3], paper: true } as FigureResult["series"][number];
  const result = { id: "f", title: "F", rows: [], axes: { x: "time (s)", y: "rate" }, series: [paper] };
  expect(linesOf(result)).toEqual([
    { id: "0 paper: A", label: "paper: A", points: [{ x: 1, y: 3 }], pointsOnly: true },
  ]);
});
