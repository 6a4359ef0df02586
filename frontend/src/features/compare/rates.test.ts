import { expect, test } from "vitest";
import type { CompareResponse } from "@/api/types";
import { otherCurrencies, withRate } from "./rates";

const plans = (...currencies: string[]) =>
  currencies.map((currency) => ({ currency })) as CompareResponse["plans"];

test("rates are asked for the currencies that the base does not have", () => {
  expect(otherCurrencies(plans("USD", "USD"), 0)).toEqual([]);
  expect(otherCurrencies(plans("USD", "EUR", "CHF", "EUR"), 0)).toEqual(["EUR", "CHF"]);
  expect(otherCurrencies(plans("USD", "EUR", "CHF", "EUR"), 1)).toEqual(["USD", "CHF"]);
});

test("a currency has one rate, and none of it is left when it is emptied", () => {
  const both = withRate(withRate([], "EUR", 1.08), "CHF", 1.1);
  expect(both).toEqual(["EUR=1.08", "CHF=1.1"]);
  expect(withRate(both, "EUR", 1e-7)).toEqual(["CHF=1.1"]);
  expect(withRate(both, "EUR", 0.5)).toEqual(["CHF=1.1", "EUR=0.5"]);
  expect(withRate(both, "CHF", null)).toEqual(["EUR=1.08"]);
  expect(withRate(both, "CHF", 0)).toEqual(["EUR=1.08"]);
});
