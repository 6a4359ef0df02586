import { describe, expect, test } from "vitest";
import { canonical, DEFAULT_SPEC, getIn, mergePatch, type PlanSpec, readSpec, sameSpec, setIn } from "./spec";

describe("setIn", () => {
  test("sets without touching the original", () => {
    const before = structuredClone(DEFAULT_SPEC);
    const after = setIn(DEFAULT_SPEC, "cabling.slack_metres", 1);
    expect(getIn(after, "cabling.slack_metres")).toBe(1);
    expect(DEFAULT_SPEC).toEqual(before);
    expect(after.topology).toBe(DEFAULT_SPEC.topology);
  });
  test("undefined goes back to the default and leaves no empty object", () => {
    const set = setIn(DEFAULT_SPEC, "cabling.slack_metres", 1);
    expect(setIn(set, "cabling.slack_metres", undefined)).toEqual(DEFAULT_SPEC);
  });
});

// The examples of RFC 7396, appendix A.
test.each([
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])("merge patch %j with %j is %j", (target, patch, result) => {
  expect(mergePatch(target, patch)).toEqual(result);
});

test("equal specs are equal whatever the order of their keys", () => {
  const a: PlanSpec = { topology: { family: "bcube", n: 8, k: 3 }, catalog: "x" };
  const b: PlanSpec = { catalog: "x", topology: { k: 3, n: 8, family: "bcube" } };
  expect(canonical(a)).toBe(canonical(b));
  expect(sameSpec(a, b)).toBe(true);
  expect(sameSpec(a, setIn(b, "topology.n", 4))).toBe(false);
});

test("a bare topology is promoted, anything else that is no spec is refused", () => {
  expect(readSpec({ family: "tree", edge_ports: 48, servers: 10 })?.topology.family).toBe("tree");
  expect(readSpec({ topology: { family: "tree" } })).not.toBeNull();
  for (const bad of [null, 1, "x", [], {}, { topology: {} }, { topology: { family: 3 } }])
    expect(readSpec(bad)).toBeNull();
});
