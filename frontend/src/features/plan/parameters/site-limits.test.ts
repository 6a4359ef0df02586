import { expect, test } from "vitest";
import { type SiteLimit, siteLimitWords } from "./site-limits";

const power: SiteLimit = {
  quantity: "power",
  title: "power feed",
  unit: "W",
  value: 487_360,
  place: "Container 1",
  limit: 400_000,
  usual: 400_000,
  over: 1,
  at_least: false,
  source: "a vendor",
  basis: "assumed",
};

test("a limit names the value, the limit and its source", () => {
  const words = siteLimitWords(power);
  expect(words.look).toBe("warning");
  expect(words.text).toMatch(/^Container 1: power feed 487.*kW, limit 400.*kW\.$/);
  expect(words.stated).toBe("From the catalog (assumed): a vendor");
});

test("values without a limit are shown as not checked, and limits in the plan as the plan's", () => {
  expect(siteLimitWords({ ...power, limit: null, usual: null, over: 0 })).toMatchObject({
    look: "info",
    stated: "No limit stated; not checked.",
  });
  expect(siteLimitWords({ ...power, limit: 500_000, over: 0 })).toMatchObject({
    look: "pass",
    stated: "Stated by the plan.",
  });
  expect(siteLimitWords({ ...power, quantity: "gross_mass", unit: "kg" }).look).toBe("error");
});
