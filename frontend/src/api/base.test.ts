import { expect, test } from "vitest";
import { baseOf, pagePath, serverPath } from "./base";

test("the base comes from the page that the server sent", () => {
  expect(baseOf(null)).toBe("");
  expect(baseOf({ content: "./" })).toBe("");
  expect(baseOf({ content: "/" })).toBe("");
  expect(baseOf({ content: "/lab/cubeyard/" })).toBe("/lab/cubeyard");
});

test("paths get the prefix once, and lose it for the router", () => {
  expect(serverPath("/api/v1/plans", "")).toBe("/api/v1/plans");
  expect(serverPath("/api/v1/plans", "/lab")).toBe("/lab/api/v1/plans");
  expect(serverPath("/lab/api/v1/plans", "/lab")).toBe("/lab/api/v1/plans");
  expect(serverPath("/laboratory", "/lab")).toBe("/lab/laboratory");
  expect(pagePath("/lab/plans/new", "/lab")).toBe("/plans/new");
  expect(pagePath("/plans/new", "")).toBe("/plans/new");
});
