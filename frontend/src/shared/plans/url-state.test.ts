import { expect, test } from "vitest";
import { readPlanSearch, readSelection, readSorts, writeSelection, writeSorts } from "./url-state";

test("good values stay, bad ones fall away", () => {
  expect(
    readPlanSearch({ view: "matrix", links: "all", tab: "bom", color: "power", q: "R11", revision: "3" }),
  ).toEqual({
    view: "matrix",
    links: "all",
    tab: "bom",
    color: "power",
    q: "R11",
    revision: 3,
  });
  expect(
    readPlanSearch({
      view: "4d",
      links: 1,
      tab: null,
      color: "",
      sel: "x".repeat(4_001),
      revision: -1,
      other: 1,
    }),
  ).toEqual({});
});

test("a search of digits stays text, a topology given as an object becomes JSON", () => {
  expect(readPlanSearch({ q: 132 })).toEqual({ q: "132" });
  expect(readPlanSearch({ topology: { family: "tree" } })).toEqual({ topology: '{"family":"tree"}' });
});

test.each([
  "rack:R11",
  "device:<3,001>",
  "device:[2,1,0]",
  "device:(1,2,3)",
  "cable:C02816",
  "tray:A:1",
  "level:2",
])("selection %s round-trips", (text) => {
  const selection = readSelection(text);
  expect(selection).not.toBeNull();
  expect(writeSelection(selection)).toBe(text);
});

test.each([undefined, "", "rack", "rack:", ":R11", "planet:mars"])("%s is no selection", (text) => {
  expect(readSelection(text)).toBeNull();
});

test("the order of each table survives the address, and what is no order falls away", () => {
  const sorts = {
    cables: { column: "routed", descending: true },
    racks: { column: "name", descending: false },
  };
  expect(writeSorts(sorts)).toBe("cables.-routed,racks.name");
  expect(readSorts(writeSorts(sorts))).toEqual(sorts);
  expect(writeSorts({})).toBeUndefined();
  expect(readSorts("cables,.x,other.name,bom.-,power.-kw")).toEqual({
    power: { column: "kw", descending: true },
  });
  expect(readPlanSearch({ sort: "nothing" })).toEqual({});
});

test("a selection too long for a URL is not written, and what is written is read again", () => {
  const names = (count: number) =>
    Array.from({ length: count }, (_, at) => `C${String(at).padStart(5, "0")}`);
  const some = writeSelection({ kind: "cable", names: names(150) });
  expect(readPlanSearch({ sel: some }).sel).toBe(some);
  expect(writeSelection({ kind: "cable", names: names(1_000) })).toBeUndefined();
});
