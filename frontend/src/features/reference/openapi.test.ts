import { expect, test } from "vitest";
import real from "@/api/openapi.json";
import { type Document, deref, endpointsOf, exampleOf, fillPath, typeText } from "./openapi";

const document = real as unknown as Document;

test("every operation of our own description can be shown", () => {
  const endpoints = endpointsOf(document);
  expect(endpoints.length).toBeGreaterThan(20);
  expect(new Set(endpoints.map((e) => e.key)).size).toBe(endpoints.length);
  for (const { operation } of endpoints) {
    for (const parameter of operation.parameters ?? []) expect(deref(document, parameter)?.name).toBeTruthy();
    const body = operation.requestBody?.content["application/json"]?.schema;
    if (body) expect(exampleOf(document, body)).toBeTypeOf("object");
    for (const response of Object.values(operation.responses)) expect(deref(document, response)).toBeTruthy();
  }
});

test("a preview's example body holds a spec that names its family", () => {
  const body =
    document.paths["/api/v1/plans/preview"]!.post!.requestBody!.content["application/json"]!.schema;
  expect(JSON.stringify(exampleOf(document, body))).toContain('"family"');
});

test("paths are filled and escaped", () => {
  expect(
    fillPath(
      "/api/v1/plans/{id}/devices/{name}",
      [
        { name: "name", in: "path" },
        { name: "revision", in: "query" },
        { name: "limit", in: "query" },
      ],
      { id: "a1", name: "<3,001>", revision: "2", limit: "" },
    ),
  ).toBe("/api/v1/plans/a1/devices/%3C3%2C001%3E?revision=2");
});

test("types read as people write them", () => {
  expect(typeText(document, { anyOf: [{ type: "string" }, { type: "null" }] })).toBe("string | null");
  expect(typeText(document, { type: "array", items: { $ref: "#/components/schemas/Finding" } })).toBe(
    "Finding[]",
  );
  expect(typeText(document, { enum: ["a", 1] })).toBe('"a" | 1');
});
