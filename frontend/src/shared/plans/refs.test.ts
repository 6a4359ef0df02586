import { expect, test } from "vitest";
import { readRefs, resolveRef, without } from "./refs";
import { encodeSpec } from "./share";
import { DEFAULT_SPEC } from "./spec";

test("at most four different plans are read", () => {
  expect(readRefs(undefined)).toEqual([]);
  expect(readRefs("a,b,,a,c,d,e")).toEqual(["a", "b", "c", "d"]);
});

test("each kind of reference means its plan", async () => {
  expect(await resolveRef("ex.tree")).toMatchObject({
    spec: { topology: { family: "tree" } },
    name: "Two-level tree",
  });
  expect(await resolveRef(`z.${await encodeSpec(DEFAULT_SPEC)}`)).toMatchObject({ spec: DEFAULT_SPEC });
  expect(await resolveRef("0a1b2c3d4e5f6g")).toEqual({ ref: "0a1b2c3d4e5f6g", id: "0a1b2c3d4e5f6g" });
  expect(await resolveRef("0a1b2c3d4e5f6g@12")).toEqual({
    ref: "0a1b2c3d4e5f6g@12",
    id: "0a1b2c3d4e5f6g",
    revision: 12,
  });
  for (const wrong of ["0a1b@0", "0a1b@", "0a1b@1@2", "@1"])
    await expect(resolveRef(wrong)).rejects.toThrow("is not a plan");
  await expect(resolveRef("ex.nothing")).rejects.toThrow("No example");
  await expect(resolveRef("../etc")).rejects.toThrow("is not a plan");
});

test("removing a plan keeps the base on the same one, or moves it to the first", () => {
  const refs = ["a", "b", "c"];
  expect(without(refs, 1, 0)).toEqual({ refs: ["b", "c"], base: 0 });
  expect(without(refs, 1, 2)).toEqual({ refs: ["a", "b"], base: 1 });
  expect(without(refs, 1, 1)).toEqual({ refs: ["a", "c"], base: 0 });
});
