import { expect, test } from "vitest";
import type { FigureResult } from "@/api/types";
import {
  axisFormat,
  bandText,
  groupByPaper,
  linesOf,
  looksOf,
  originText,
  paperText,
  printedText,
  sourceParts,
  summaryText,
  unitText,
  valueText,
  verdictCounts,
} from "./figures";

test("a paper's numbers are counted by how they stand", () => {
  const none = { paper: "bcube", agree: 0, bound: 0, differ: 0, not_run: 0, absent: 0 };
  expect(paperText({ ...none, agree: 20, bound: 1, differ: 3, absent: 4, not_run: 1 })).toBe(
    "20 agree, 1 bound holds, 3 differ with a reason, 4 absent; 1 figure not run",
  );
  expect(paperText({ ...none, not_run: 8 })).toBe("8 figures not run");
});

test("a result is summed up by its verdicts; without one it was not run", () => {
  const ran = { result_from: "run" as const, verdicts: { matches: 11, "within band": 1, differs: 0 } };
  expect(verdictCounts(ran)).toEqual([
    { verdict: "matches", count: 11 },
    { verdict: "within band", count: 1 },
    { verdict: "bound holds", count: 0 },
    { verdict: "differs", count: 0 },
  ]);
  expect(summaryText(ran)).toBe("11 match, 1 within tolerance");
  expect(summaryText({ ...ran, verdicts: { matches: 1, differs: 2 } })).toBe("1 match, 2 differ");
  expect(verdictCounts({ result_from: null, verdicts: {} })).toBeNull();
  expect(summaryText({ result_from: null, verdicts: {} })).toBe("not run");
});

test("a result says where it comes from", () => {
  const reference = { engine_version: "0.1.0", seeds: [1], secs: 2, hash: "", machine: null };
  expect(originText({ result_from: null, reference: null, agrees: null })).toBe("");
  expect(originText({ result_from: "reference", reference, agrees: null })).toBe(
    "Reference result of engine 0.1.0. Run it to check.",
  );
  const machine = { ...reference, machine: "2 cores" };
  expect(originText({ result_from: "reference", reference: machine, agrees: null })).toBe(
    "Measured on 2 cores",
  );
  expect(originText({ result_from: "run", reference, agrees: true })).toContain("the same numbers");
  expect(originText({ result_from: "run", reference, agrees: false })).toContain("not the numbers");
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

test("a paper's number keeps its printed digits, a quotient of two gets four", () => {
  expect(printedText(784137)).toBe("784,137");
  expect(printedText(179.1)).toBe("179.1");
  expect(printedText(3.7705263157894735)).toBe("3.771");
  expect(printedText(1234567)).toBe("1,234,567");
  expect(printedText(null)).toBe("–");
});

test("numbers keep the digits that a comparison needs", () => {
  expect(valueText(175.88897621506248)).toBe("175.9");
  expect(valueText(1280)).toBe("1,280");
  expect(valueText(0.60941)).toBe("0.6094");
  expect(valueText(0)).toBe("0");
  expect(valueText(null)).toBe("–");
  expect(bandText(1279.5, 1280.5)).toBe("1,279.5 to 1,280.5");
  expect(bandText(79.8, 148.20000000000002)).toBe("79.8 to 148.2");
  expect(bandText(1984.453, 2027.547)).toBe("1,984.45 to 2,027.55");
  expect(bandText(317.5617, 1090.438)).toBe("317.6 to 1,090.4");
  expect(bandText(0.1234567, 0.2345678)).toBe("0.1235 to 0.2346");
  expect(bandText(-100, 900)).toBe("−100 to 900");
  expect(unitText("cm2")).toBe("cm²");
});

test("a line has a gap where a value is unknown, has a band where seeds differ, and steps over time", () => {
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
      look: 0,
      points: [
        { x: 0, y: 4 },
        { x: 2, y: 2, gap: true },
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
    { id: "0 paper: A", label: "paper: A", look: 0, points: [{ x: 1, y: 3 }], pointsOnly: true },
  ]);
});

test("the paper's values look like the line that they belong to", () => {
  expect(looksOf(["BCube", "paper: BCube", "Fat-tree", "paper: Fat-tree"])).toEqual([0, 0, 3, 3]);
  const two = looksOf([
    "type 1, ToRs, measured",
    "type 2D, ToRs, measured",
    "type 2D, ToRs, fluid",
    "paper: type 2D, ToRs",
  ]);
  expect(two[3]).toBe(two[1]);
  expect(looksOf(["BCube", "Tree", "paper: BCube is over", "paper: the tree is over"])).toEqual([0, 4, 0, 4]);
  expect(looksOf(["Type 1", "Type 1, one cluster", "paper: Type 1, one cluster"])).toEqual([0, 1, 1]);
  expect(looksOf(["reduction in links", "paper: all servers join"])).toEqual([0, 1]);
});

test("axes of shares and ratios are in per cent, others are not", () => {
  expect(axisFormat("server failure ratio", [0, 0.2])?.(0.02)).toBe("2\u00a0%");
  expect(axisFormat("share of links saved", [-0.06, 0.3])?.(-0.055)).toBe("\u22125.5\u00a0%");
  expect(axisFormat("ABT (Gb/s)", [0.1])).toBeUndefined();
  expect(axisFormat("oversubscription ratio", [1, 4])).toBeUndefined();
});
