import { expect, test } from "vitest";
import { createModel } from "@/scene/model";
import { sampleBcube } from "@/scene/testing/sample-plan";
import { breakoutText, cableLabel, legsOf } from "./names";

const { scene, cables } = sampleBcube(4, 4);
const { columns } = cables;
const devices = [...columns.b_device];
const shared = devices[0]!;
const rows = devices.flatMap((device, row) => (device === shared ? [row] : []));
const zero = devices.map(() => 0);
const model = createModel(scene, {
  ...cables,
  columns: {
    ...columns,
    lead: devices.map((device, row) => (device === shared ? rows[0]! : row)),
    leg: zero.map((_, row) => rows.indexOf(row) + 1),
    trunk: zero.map((_, row) => (rows.includes(row) ? 2 : 0)),
  },
});

test("all legs of a breakout have the trunk's label at its plug, and each its own at the other end", () => {
  expect(rows.length).toBe(4);
  expect(legsOf(model, rows[2]!)).toEqual(rows);
  expect(breakoutText(model, rows[2]!)).toBe(`Leg 3 of 4 of C${String(rows[0]!).padStart(5, "0")}`);
  const trunk = new Set(rows.map((row) => cableLabel(model, row, true)));
  expect([...trunk]).toEqual([expect.stringMatching(/:P0-P3\/R\d+-\d+[A-Z]?:eth0\+3$/)]);
  const branches = new Set(rows.map((row) => cableLabel(model, row)));
  expect(branches.size).toBe(4);
  for (const label of branches) expect(label).toMatch(/^R\d+-\d+[A-Z]?:eth0\/R\d+-\d+[A-Z]?:P\d$/);
});

test("a cable of its own is no leg, and keeps its labels", () => {
  const other = devices.findIndex((device) => device !== shared);
  expect([legsOf(model, other), breakoutText(model, other)]).toEqual([[other], ""]);
  const [near, far] = cableLabel(model, other).split("/");
  expect(cableLabel(model, other, true)).toBe(`${far}/${near}`);
});
