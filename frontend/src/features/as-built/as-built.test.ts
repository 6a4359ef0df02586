import { expect, test } from "vitest";
import type { AsBuilt, AsBuiltDifference, AsBuiltEnd, AsBuiltStep } from "@/api/types";
import { formatMillimetres } from "@/units";
import { stem, uploadOf } from "./files";
import { endText, lengthText, presentKinds, summaryText } from "./kinds";
import { byRack, orderCsv } from "./order";

const end = (device: string, port: string, rack: string | null = "R00"): AsBuiltEnd => ({
  device,
  port,
  rack,
  unit: rack === null ? "" : "01",
  known: rack !== null,
  written: "",
});

function step(number: number, rack: string, changes: Partial<AsBuiltStep> = {}): AsBuiltStep {
  return {
    number,
    action: "move",
    cable: 5,
    name: "C00005",
    rack,
    out: [end("s0", "P1", rack)],
    into: [end("s0", "P2", rack)],
    stays: end("h0", "eth0"),
    length_mm: 3000,
    after: null,
    reuses: null,
    text: "Move it.",
    ...changes,
  };
}

const COUNTS = {
  in_order: 28,
  missing: 2,
  extra: 0,
  wrong_port: 0,
  swapped: 2,
  wrong_length: 0,
  unclear: 0,
  not_covered: 0,
  outside: 0,
};

function document(counts: Partial<AsBuilt["counts"]> = {}): AsBuilt {
  const kinds = Object.keys(COUNTS) as AsBuiltDifference["kind"][];
  return {
    plan_hash: "0",
    title: "Yard",
    cables: 32,
    list: { format: "csv", cables: 30, with_length: 30, reporters: null, skipped: 0, skipped_rows: [] },
    in_order: false,
    counts: { ...COUNTS, ...counts },
    kinds: kinds.map((kind) => ({ kind, title: kind, meaning: "" })),
    differences: [],
    contradictions: [],
    remarks: [],
    work: { operations: 0, new_cables: 0, steps: [] },
  };
}

test("one file is sent as it is, by its content; JSON with the name of its device", async () => {
  const csv = uploadOf([{ name: "floor.json", text: "a_device,a_port\r\n" }]);
  expect([csv.type, csv.host, await csv.body.text()]).toEqual(["text/csv", undefined, "a_device,a_port\r\n"]);
  expect(uploadOf([{ name: "floor.xlsx", text: "PK\u0003\u0004" }]).type).toContain("spreadsheetml");
  const upload = uploadOf([{ name: "h00.v2.json", text: ' {"lldp": {}}' }]);
  expect([upload.type, upload.host]).toEqual(["application/json", "h00.v2"]);
  expect(stem(".json")).toBe(".json");
});

test("outputs of several devices become one document, each under its device", async () => {
  const made = uploadOf([
    { name: "h00.json", text: '{"lldp": {"interface": 1}}' },
    { name: "rest.json", text: '\uFEFF{"s0-0": {"lldp": {}}}' },
    { name: "named.json", text: '{"host": "h01", "lldp": {}}' },
  ]);
  expect(made.type).toBe("application/json");
  expect(made.host).toBeUndefined();
  expect(JSON.parse(await made.body.text())).toEqual([
    { host: "h00", lldp: { interface: 1 } },
    { "s0-0": { lldp: {} } },
    { host: "h01", lldp: {} },
  ]);
});

test("files that do not go together are refused by name", () => {
  const lldp = { name: "h00.json", text: '{"lldp": {}}' };
  expect(() => uploadOf([lldp, { name: "floor.csv", text: "a,b" }])).toThrow(
    "floor.csv is no output of lldpctl",
  );
  expect(() => uploadOf([lldp, { name: "h01.json", text: "{" }])).toThrow("h01.json is not JSON");
  expect(() => uploadOf([])).toThrow("No file was chosen.");
});

test("the summary counts what the list covers", () => {
  expect(summaryText(document())).toBe("28 of 32 cables in order");
  expect(summaryText(document({ in_order: 4, not_covered: 28 }))).toBe(
    "4 of 4 cables in order, 28 of 32 not covered",
  );
  expect(presentKinds(document()).map(({ kind, count }) => [kind, count])).toEqual([
    ["missing", 2],
    ["swapped", 2],
  ]);
});

test("ends and lengths in words", () => {
  expect(endText(end("h0", "eth0"))).toBe("R00 · h0 eth0");
  expect(endText(end("guest", "1", null))).toBe("guest 1");
  const ends = { a: end("h0", "eth0"), b: end("s0", "P0") };
  const difference: AsBuiltDifference = {
    kind: "wrong_length",
    cable: 5,
    name: "C00005",
    expected: { ...ends, length_mm: 3000 },
    found: { ...ends, length_mm: 7000, where: "line 2" },
    note: "",
  };
  const [ordered, measured] = [3000, 7000].map(formatMillimetres);
  expect(lengthText(difference)).toBe(`${measured} for ${ordered}`);
  expect(lengthText({ ...difference, found: { ...ends, length_mm: null, where: "line 2" } })).toBe(ordered);
  expect(lengthText({ ...difference, expected: null, found: null })).toBe("");
});

test("steps are grouped by rack and keep their order", () => {
  const steps = [step(1, "R02"), step(2, "R01"), step(3, "R02"), step(4, "")];
  expect(byRack(steps).map(({ rack, steps: own }) => [rack, own.map(({ number }) => number)])).toEqual([
    ["R02", [1, 3]],
    ["R01", [2]],
    ["", [4]],
  ]);
});

test("the work order as CSV has a row a step, safe for spreadsheets", () => {
  const removed = step(1, "R00", {
    action: "remove",
    cable: null,
    name: "",
    into: [],
    stays: null,
    length_mm: null,
  });
  const text = orderCsv([removed, step(2, "R00", { after: 1, text: '=1+1, "so"' })]);
  expect(text.split("\r\n")).toEqual([
    "step,rack,action,cable,out_of,into,stays,length_metres,after_step,cable_of_step,text",
    "1,R00,Take out,,s0 P1,,,,,,Move it.",
    `2,R00,Move one end,C00005,s0 P1,s0 P2,h0 eth0,3,1,,"'=1+1, ""so"""`,
    "",
  ]);
});
