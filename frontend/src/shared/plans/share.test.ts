import { expect, test } from "vitest";
import { decodeSpec, encodeSpec, parseSpecText } from "./share";
import { DEFAULT_SPEC, type PlanSpec } from "./spec";

test("a spec survives the link, whatever its text", async () => {
  const spec: PlanSpec = {
    ...DEFAULT_SPEC,
    packaging: { pins: [{ device: "0132", rack: "R03", unit: 12 }], note: "käfig ✓ <,>&=?#%" },
  };
  const code = await encodeSpec(spec);
  expect(code).toMatch(/^1[A-Za-z0-9_-]+$/);
  expect(encodeURIComponent(code)).toBe(code);
  expect(await decodeSpec(code)).toEqual(spec);
});

test("equal specs make equal links", async () => {
  const turned = {
    catalog: DEFAULT_SPEC.catalog,
    topology: { servers: 2048, k: 3, n: 8, family: "bcube" },
  } as PlanSpec;
  expect(await encodeSpec(turned)).toBe(await encodeSpec(DEFAULT_SPEC));
});

test("the default plan's link is short", async () => {
  expect((await encodeSpec(DEFAULT_SPEC)).length).toBeLessThan(120);
});

test("what is no link says why", async () => {
  const code = await encodeSpec(DEFAULT_SPEC);
  await expect(decodeSpec(code.slice(0, -8))).rejects.toThrow("damaged");
  await expect(decodeSpec("1!!")).rejects.toThrow("damaged");
  await expect(decodeSpec(`2${code.slice(1)}`)).rejects.toThrow("another version");
  await expect(decodeSpec(`1${"A".repeat(70_000)}`)).rejects.toThrow("too long");
  expect(() => parseSpecText("[1]")).toThrow("topology");
  expect(() => parseSpecText("{")).toThrow("damaged");
});
