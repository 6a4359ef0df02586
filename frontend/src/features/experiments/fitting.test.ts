import { describe, expect, it } from "vitest";
import type { Draft } from "./draft";
import { beforeTaken, type Fitted, isOf, type Taken } from "./fitting";

const before = {
  plan: { topology: { family: "bcube", n: 8, k: 3 } },
  workload: { kind: "all-to-all" },
  engine: "emulation",
  emulation: { seconds: 5 },
} as unknown as Draft;
const slice = { within: "0000", k: 1 };
const experiment = {
  ...before,
  workload: { kind: "permutation" },
  emulation: { seconds: 5, slice },
} as unknown as Draft;
const taken: Taken = { before, fitted: { experiment } as unknown as Fitted };

describe("a part that was taken of a plan", () => {
  it("is that of a draft whose plan and slice are unchanged, whatever else is", () => {
    expect(isOf(experiment, taken)).toBe(true);
    expect(isOf({ ...experiment, link_gbps: 0.02 }, taken)).toBe(true);
    expect(isOf(before, taken)).toBe(false);
    expect(isOf({ ...experiment, engine: "packet" }, taken)).toBe(false);
  });

  it("is given back with what was changed since", () => {
    const changed = { ...experiment, link_gbps: 0.02, emulation: { seconds: 9, slice } } as Draft;
    expect(beforeTaken(changed, taken)).toEqual({ ...before, link_gbps: 0.02, emulation: { seconds: 9 } });
    const incast = { ...experiment, workload: { kind: "incast" } } as Draft;
    expect(beforeTaken(incast, taken).workload).toEqual({ kind: "incast" });
  });
});
