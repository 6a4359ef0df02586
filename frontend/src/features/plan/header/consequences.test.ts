import { expect, test } from "vitest";
import type { Summary } from "@/api/types";
import type { PlanSpec } from "@/shared/plans/spec";
import { consequences, type Known } from "./consequences";

const known = (topology: object, servers: number, resolved: string, enclosure?: string): Known => ({
  spec: { topology, ...(enclosure && { site: { enclosure } }) } as unknown as PlanSpec,
  summary: { counts: { servers }, spec: { topology, site: { enclosure: resolved } } } as unknown as Summary,
});
const BCUBE = { family: "bcube", n: 8, k: 3, servers: 2048 };

test("smaller switches show the remaining number of servers", () => {
  const after = known({ ...BCUBE, n: 4, servers: 128 }, 128, "container-40ft");
  expect(consequences(known(BCUBE, 2048, "container-40ft"), after)).toEqual([
    { what: "servers", title: "Servers", before: "2,048", after: "128" },
  ]);
});

test("an enclosure that changed by itself is reported, a chosen one is not", () => {
  const before = known(BCUBE, 2048, "container-40ft");
  const larger = { ...BCUBE, n: 16, servers: 32768 };
  expect(consequences(before, known(larger, 32768, "rows")).map((consequence) => consequence.what)).toEqual([
    "servers",
    "enclosure",
  ]);
  expect(consequences(before, known(BCUBE, 2048, "rows", "rows"))).toEqual([]);
});

test("a typed number of servers, and another family, are not reported", () => {
  const before = known(BCUBE, 2048, "container-40ft");
  expect(consequences(before, known({ ...BCUBE, servers: 1024 }, 1024, "container-40ft"))).toEqual([]);
  expect(consequences(before, known({ family: "dcell", n: 4, k: 1 }, 20, "rows"))).toEqual([]);
});
