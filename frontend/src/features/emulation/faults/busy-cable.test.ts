import { expect, it } from "vitest";
import type { Network } from "../session/network";
import { busyCable } from "./busy-cable";

/** Server 0 hangs on switch 1 by link 0; switches 1, 2 and 3 are joined by links 1 to 3. */
const network = {
  links: 4,
  a: Int32Array.of(0, 1, 2, 3),
  b: Int32Array.of(1, 2, 3, 1),
  linksOf: [[0], [0, 1, 3], [1, 2], [2, 3]],
} as unknown as Network;
const tick = (...bytes: number[]) => ({ ab: Uint32Array.from(bytes), ba: new Uint32Array(4) });

it("is the busiest that leaves both its ends another cable", () => {
  expect(busyCable(network, tick(90, 10, 20, 0))).toEqual({ kind: "link", row: 2 });
});

it("is the only one that carries anything, or none", () => {
  expect(busyCable(network, tick(90, 0, 0, 0))).toEqual({ kind: "link", row: 0 });
  expect(busyCable(network, tick(0, 0, 0, 0))).toBeNull();
});
