import { expect, test } from "vitest";
import { DEFAULT_SPEC } from "@/shared/plans/spec";
import { readPlanFile } from "./plan-file";

const exported = {
  format: "cubeyard-plan",
  format_version: 1,
  name: "Two rows",
  plan_hash: "12ab",
  engine_version: "0.1.0",
  spec: DEFAULT_SPEC,
  summary: { counts: { servers: 2048 } },
};

test("a plan's export, a spec and a topology are plans; only the export has its origin", () => {
  const read = readPlanFile("plan.json", JSON.stringify(exported));
  expect(read).toMatchObject({
    spec: DEFAULT_SPEC,
    name: "Two rows",
    made: { hash: "12ab", engine: "0.1.0" },
  });
  expect(readPlanFile("spec.json", JSON.stringify(DEFAULT_SPEC))).toMatchObject({
    spec: DEFAULT_SPEC,
    name: null,
    made: null,
  });
  expect(readPlanFile("t.json", JSON.stringify(DEFAULT_SPEC.topology)).spec).toEqual({
    topology: DEFAULT_SPEC.topology,
  });
});

test.each([
  ["", "not JSON"],
  ["name;servers", "not JSON"],
  ["[1]", "has no plan"],
  ['{"topology":{}}', "has no plan"],
  [JSON.stringify({ ...exported, spec: undefined }), "has no plan"],
  [JSON.stringify({ ...exported, format_version: 2 }), "newer version"],
])("%s is refused by the name of its file", (text, why) => {
  expect(() => readPlanFile("a.txt", text)).toThrow(why);
  expect(() => readPlanFile("a.txt", text)).toThrow("a.txt");
});
