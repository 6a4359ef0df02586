import { expect, test } from "vitest";
import "@/shared/faults/testing/with-fault-kinds";
import type { JsonObject } from "@/shared/plans/spec";
import { newDraft, withFailures, withFaults, withSeeds } from "./draft";
import { dataplanesOf, fieldsOf } from "./emulation-section";
import { engineOf, SMALL_PLAN, withEmulation, withEngine } from "./engine";

const plan = { topology: { family: "bcube", n: 8, k: 3 } };

test("real packets take one plan, one seed and no sweep", () => {
  const sweep = withSeeds(withFailures(newDraft(plan), ["switch"], [0, 0.1]), [3, 4]);
  const draft = withEngine({ ...sweep, link_gbps: 10, flow_gigabits: 1, max_min: true }, "emulation");
  expect(draft).toEqual({
    plan,
    workload: { kind: "all-to-all" },
    engine: "emulation",
    emulation: {},
    seeds: [3],
  });
  expect(withEngine(draft, "emulation")).toBe(draft);
});

test("back at the flow engine nothing is left that only packets know", () => {
  const faults: JsonObject[] = [
    { target: { names: ["11"] }, kind: "server-frozen" },
    { target: { names: ["00/<0,0>"] }, kind: "link-rate", rate_bits_per_sec: 1e7, at_secs: 2, flap_secs: 1 },
  ];
  const packets = withEmulation(
    withFaults(withEngine(newDraft(SMALL_PLAN), "emulation"), faults),
    "seconds",
    5,
  );
  expect(packets.emulation).toEqual({ seconds: 5 });
  const flow = withEngine(packets, "flow");
  expect(engineOf(flow)).toBe("flow");
  expect(flow).not.toHaveProperty("emulation");
  expect(flow.faults).toEqual([
    { target: { names: ["11"] } },
    { target: { names: ["00/<0,0>"] }, kind: "link-rate", rate_bits_per_sec: 1e7, at_secs: 2 },
  ]);
});

test("a setting that goes back to its default leaves the draft one of real packets", () => {
  const draft = withEmulation(withEngine(newDraft(SMALL_PLAN), "emulation"), "timers.hello_secs", 0.5);
  const back = withEmulation(draft, "timers.hello_secs", undefined);
  expect(back.emulation).toEqual({});
  expect(engineOf(back)).toBe("emulation");
});

test("a protocol's settings become fields with its own limits and defaults", () => {
  const setting = { title: "Hello interval", description: "Time between hellos.", source: "[bcube §7.5]" };
  const protocol = {
    settings: [
      { ...setting, name: "hello_secs", type: "number", unit: "s", minimum: 0.02, maximum: 60, default: 1 },
      { ...setting, name: "dead_after", type: "integer", unit: "", minimum: 1, maximum: 100, default: 3 },
    ],
  } as Parameters<typeof fieldsOf>[0];
  const [hello, dead] = fieldsOf(protocol);
  expect(hello).toMatchObject({ path: "timers.hello_secs", unit: "s", otherwise: "1", range: [0.02, 60] });
  expect(dead).toMatchObject({ integer: true, range: [1, 100] });
  expect(dead).not.toHaveProperty("unit");
  expect(fieldsOf(undefined)).toEqual([]);
});

test("a simulation keeps the question of a prediction, and only the links go", () => {
  const seeded = { ...withSeeds(newDraft(plan), [3, 4]), link_gbps: 10, flow_gigabits: 1 };
  const packets = withEngine(seeded, "packet");
  expect(packets).toEqual({
    plan,
    workload: { kind: "all-to-all" },
    seeds: [3, 4],
    link_gbps: 10,
    flow_gigabits: 1,
    engine: "packet",
    packet: {},
  });
  expect(withEngine({ ...packets, packet: { subflows: 8 } }, "flow")).toEqual({ ...seeded, link_load: true });
  const real = withEngine(packets, "emulation");
  expect(real).not.toHaveProperty("packet");
  expect(engineOf(withEngine(real, "packet"))).toBe("packet");
});

test("where servers forward nothing, dataplanes are what the switches are", () => {
  const routed = { name: "ip", title: "IP routing", forwardings: [], switch_dataplane: null };
  const chips = { name: "chips", title: "On chips", forwardings: [], switch_dataplane: "serverswitch" };
  const own = { name: "own", title: "Own", forwardings: [{ name: "kernel" }], switch_dataplane: null };
  const of = (first: object, chosen?: string) => {
    const profile = { default_protocol: (first as { name: string }).name, protocols: [first, chips] };
    return dataplanesOf(profile as unknown as Parameters<typeof dataplanesOf>[0], chosen);
  };
  expect(of(routed).protocol).toBe(routed);
  expect(of(routed, "serverswitch").protocol).toBe(chips);
  expect(of(routed).options.map(({ name, title }) => [name, title])).toEqual([
    ["kernel", "IP routing"],
    ["serverswitch", "On chips"],
  ]);
  expect(of(own, "serverswitch")).toMatchObject({
    protocol: own,
    options: own.forwardings,
    ofSwitches: false,
  });
});
