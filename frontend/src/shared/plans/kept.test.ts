import { beforeEach, expect, test, vi } from "vitest";
import { keepSpec, keptSpec } from "./kept";
import { addressSpec, decodeSpec, linkSpec } from "./share";
import { DEFAULT_SPEC, type PlanSpec } from "./spec";

/** A spec that no packing makes short. */
function large(seed: number): PlanSpec {
  let state = seed;
  const word = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state.toString(36);
  };
  const links = Array.from({ length: 12_000 }, () => ({ a: word(), b: word() }));
  return { ...DEFAULT_SPEC, topology: { family: "custom", nodes: [], links } };
}

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  });
});

test("a spec that is too large for a link stays with the tab, and a reload finds it", async () => {
  expect(await linkSpec(large(1))).toBeNull();
  const code = await addressSpec(large(1));
  expect(code.length).toBeLessThan(40);
  expect(await addressSpec(large(1))).toBe(code);
  expect(await decodeSpec(code)).toEqual(large(1));
});

test("a small one is in the link itself", async () => {
  const code = await addressSpec(DEFAULT_SPEC);
  expect(code).toBe(await linkSpec(DEFAULT_SPEC));
  expect(await decodeSpec(code)).toEqual(DEFAULT_SPEC);
});

test("another tab says what to do", () => {
  keepSpec(large(2));
  expect(() => keptSpec("kept-other")).toThrow("Save it there");
});
