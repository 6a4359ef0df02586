import { expect, test } from "vitest";
import type { Column } from "@/ui/data-table";
import { csvOfRows, rowsWith } from "./table-rows";

const racks = [
  { name: "R00", power: 12 },
  { name: "R01", power: 7 },
  { name: "R02", power: 9 },
];
const columns: Column[] = [
  { id: "rack", title: "Rack", width: 80, text: (row) => racks[row]!.name },
  {
    id: "power",
    title: "Power",
    width: 80,
    text: (row) => `${racks[row]!.power} kW`,
    sort: (row) => racks[row]!.power,
  },
];

test("a filter keeps the rows that have each word in some column", () => {
  expect(rowsWith([0, 1, 2], columns, "")).toEqual([0, 1, 2]);
  expect(rowsWith([0, 1, 2], columns, "r0 kw")).toEqual([0, 1, 2]);
  expect(rowsWith([0, 1, 2], columns, "9 R02")).toEqual([2]);
  expect(rowsWith([0, 1], columns, "R02")).toEqual([]);
});

test("CSV has the rows of the table in its order", () => {
  expect(csvOfRows(columns, [0, 1, 2], null).split("\r\n").slice(0, 4)).toEqual([
    "Rack,Power",
    "R00,12 kW",
    "R01,7 kW",
    "R02,9 kW",
  ]);
  const descending = csvOfRows(columns, [0, 1, 2], { column: "power", descending: true });
  expect(descending.split("\r\n").slice(1, 4)).toEqual(["R00,12 kW", "R02,9 kW", "R01,7 kW"]);
});
