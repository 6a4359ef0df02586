import { expect, test } from "vitest";
import { type FaultKindForm, faultName, kindOptions } from "./fault-kinds";

test("faults are counted in one row, scheduled ones first; no fault is called like a level", () => {
  expect(["f1", "f2", "l1", "l2"].map((id) => faultName(id, 2))).toEqual(["F1", "F2", "F3", "F4"]);
  expect(["l1", "l12"].map((id) => faultName(id, 0))).toEqual(["F1", "F12"]);
  expect(faultName("something", 3)).toBe("something");
});

test("a kind that the machine cannot inject is disabled, with the reason", () => {
  const kinds = [
    { kind: "link-loss", title: "Packet loss" },
    { kind: "link-delay", title: "Added delay" },
  ] as FaultKindForm[];
  const [loss, delay] = kinds.map(({ kind, title }) => ({ value: kind, label: title }));
  expect(kindOptions(kinds)).toEqual([loss, delay]);
  const missing = [{ kind: "link-delay", reason: "this kernel has no netem", fix: "Load it." }];
  expect(kindOptions(kinds, missing)).toEqual([
    loss,
    { ...delay, label: "Added delay (this kernel has no netem)", disabled: true },
  ]);
});
