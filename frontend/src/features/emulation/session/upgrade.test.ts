import "@/shared/faults/testing/with-fault-kinds";
import { expect, test } from "vitest";
import type { NetworkFrame, UpgradeFrame } from "./frames";
import { brokenItems, networkOf } from "./network";
import { unpluggedAt, upgradeStepsAt } from "./upgrade";

const frame = {
  servers: { id: [0, 1], name: ["0", "1"] },
  switches: { id: [4, 5], name: ["t0", "t1"] },
  links: {
    id: [10, 11, 12, 13],
    a: [0, 0, 1, 1],
    b: [4, 5, 4, 5],
    a_port: [],
    b_port: [],
    level: [0, 0, 0, 0],
  },
  flows: { source: [], destination: [], ideal_bits_per_sec: [] },
};
const upgrade = {
  title: "one to two ports",
  at_secs: null,
  steps: [
    { switch: "t0", links: [12] },
    { switch: "t1", links: [11, 13] },
  ],
};
const network = networkOf({ ...frame, upgrade } as unknown as NetworkFrame);
const done = (step: number, at_secs: number): UpgradeFrame => ({
  ...upgrade.steps[step - 1]!,
  step,
  steps: 2,
  at_secs,
});
const session = { upgrades: [done(1, 3), done(2, 4)] };

test("each step is done from the time on that it was told, and names its cables", () => {
  const at = (secs: number) => upgradeStepsAt(network, session, secs).map(({ doneAt }) => doneAt);
  expect([at(2.9), at(3), at(9)]).toEqual([
    [null, null],
    [3, null],
    [3, 4],
  ]);
  expect(upgradeStepsAt(network, session, 0).map(({ cables }) => cables)).toEqual([
    ["1/t0"],
    ["0/t1", "1/t1"],
  ]);
});

test("what is not plugged in carries nothing in the picture", () => {
  const rows = (secs: number) => [...brokenItems(network, unpluggedAt(network, session, secs)).links.keys()];
  expect([rows(0), rows(3.5), rows(4)]).toEqual([[2, 1, 3], [1, 3], []]);
  expect(unpluggedAt(networkOf(frame as unknown as NetworkFrame), { upgrades: [] }, 0)).toEqual([]);
});

test("cables that are taken out carry nothing once their step is done, and ports are slow until theirs is", () => {
  const steps = [
    { switch: "t0", links: [12], removed: [10] },
    { switch: "t1", links: [], faster: [11, 13], former_bits_per_sec: [1e7, 1e7] },
  ];
  const moved = networkOf({
    ...frame,
    rate_bits_per_sec: 25e6,
    upgrade: { ...upgrade, steps },
  } as unknown as NetworkFrame);
  const at = (secs: number) => brokenItems(moved, unpluggedAt(moved, session, secs));
  expect([...at(0).links.keys()]).toEqual([2]);
  expect([...at(0).degraded.keys()]).toEqual([1, 3]);
  expect([...at(3).links.keys()]).toEqual([0]);
  expect(at(4).degraded.size).toBe(0);
  const [first, second] = upgradeStepsAt(moved, session, 0);
  expect([first!.removed, first!.faster]).toEqual([["0/t0"], []]);
  expect([second!.faster, second!.bitsPerSec]).toEqual([["0/t1", "1/t1"], [25e6]]);
});
