import { expect, test } from "vitest";
import description from "@/api/openapi.json";
import { readChangesSearch } from "@/shared/plans/url-state";
import { KINDS, kindName, kindOf, whatText } from "./change-text";

test("every kind and action that the server writes is said in words", () => {
  const { kind, action } = description.components.schemas.Change.properties;
  expect([...KINDS].sort()).toEqual([...kind.enum].sort());
  for (const kind of KINDS) expect(kindName(kind)).toMatch(/^[A-Z]/);
  expect(action.enum).toContain("renamed");
  expect(whatText({ kind: "plan", action: "renamed" })).toBe("Plan renamed");
});

test("what the address cannot mean is left out", () => {
  expect(readChangesSearch({ kind: "note", plan: "0a1b2c3d4e5f6g", who: "architect", q: "R03" })).toEqual({
    kind: "note",
    plan: "0a1b2c3d4e5f6g",
    who: "architect",
    q: "R03",
  });
  expect(readChangesSearch({ who: "", q: "x".repeat(201) })).toEqual({});
  expect(kindOf("note")).toBe("note");
  expect(kindOf("castle")).toBeUndefined();
});
