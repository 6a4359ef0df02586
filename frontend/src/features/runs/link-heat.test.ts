import { expect, test } from "vitest";
import { boundsOf, busierOf, frameAt, type HeatInTime, utilisationOf } from "./link-heat";

const heat: HeatInTime = {
  step_secs: 0.1,
  links_used: 3,
  links: [0, 1, 4],
  names: null,
  permille: [
    [1000, 26, 0],
    [500, 13, 250],
    [0, 0, 750],
  ],
};

test("a moment belongs to the frame that ends with it, and the first to the first", () => {
  expect([0, 0.05, 0.1, 0.1001, 0.2, 0.25, 9].map((secs) => frameAt(heat, secs))).toEqual([
    0, 0, 0, 1, 1, 2, 2,
  ]);
  expect(boundsOf(heat, 2, 0.25)).toEqual([0.2, 0.25]);
  expect(boundsOf(heat, 1, 0.25)).toEqual([0.1, 0.2]);
});

test("directions stand by their cable, and a link without traffic has none", () => {
  const load = utilisationOf(heat, 1, 4);
  expect([...Array.from(load.a_to_b)]).toEqual([0.5, 0, 0.25, 0]);
  expect([...Array.from(load.b_to_a)]).toEqual([0.013, 0, 0, 0]);
  expect([...busierOf(load)]).toEqual([0.5, 0, 0.25, 0]);
});

test("what is none of the busiest is unknown, not idle", () => {
  const load = utilisationOf({ ...heat, links_used: 9 }, 2, 3);
  expect([...busierOf(load)]).toEqual([0, Number.NaN, 0.75]);
});
