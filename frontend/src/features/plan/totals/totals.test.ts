import { expect, test } from "vitest";
import { createModel } from "@/scene/model";
import { sampleBcube } from "@/scene/testing/sample-plan";
import { earlierValue, longestCable, type TotalRow } from "./totals";

test("the longest cable is the one with the longest route, not the longest stock length", () => {
  const { scene, cables, topology } = sampleBcube(4, 4);
  const length_mm = cables.columns.length_mm.map((mm, cable) => (cable === 17 || cable === 40 ? 99_000 : mm));
  const model = createModel(scene, { ...cables, columns: { ...cables.columns, length_mm } }, topology);
  expect(longestCable(model)).toBe(17);
  expect(longestCable(createModel(scene, null, topology))).toBe(-1);
});

test("amounts in different currencies have no difference", () => {
  const cost = (value: number, currency: string): TotalRow => ({
    id: "cost",
    title: "Cost",
    value,
    format: String,
    better: "less",
    currency,
  });
  expect(earlierValue(cost(2, "EUR"), cost(1, "EUR"))).toBe(1);
  expect(earlierValue(cost(2, "EUR"), cost(1, "USD"))).toBeUndefined();
  expect(earlierValue(cost(2, "EUR"), undefined)).toBeUndefined();
  const { currency: _, ...racks } = cost(3, "");
  expect(earlierValue(racks, racks)).toBe(3);
});
