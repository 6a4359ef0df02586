import { expect, test } from "vitest";
import { detoursAt } from "./detours";
import type { NetworkFrame, SessionEvent } from "./frames";
import { networkOf } from "./network";

/** Two servers, and ToRs with ids 4 to 6: nodes 2 to 4. */
const network = networkOf({
  servers: { id: [0, 1], name: ["0", "1"] },
  switches: { id: [4, 5, 6], name: ["t0", "t1", "t2"] },
  links: { id: [], a: [], b: [], a_port: [], b_port: [], level: [] },
  flows: { source: [], destination: [], ideal_bits_per_sec: [] },
} as unknown as NetworkFrame);

function event(
  at: number,
  rack: number,
  ways: number[][] | null,
  name?: string,
  direction = "from the rack",
): SessionEvent {
  const paths = ways?.map((servers) => ({ path_id: 0, servers, available_bits_per_sec: 1e8, others: 0 }));
  const cells = [
    { name: "rack", kind: "count" as const, value: rack },
    { name: "direction", kind: "text" as const, value: direction },
    ...(paths ? [{ name: "tors", kind: "paths" as const, value: paths }] : []),
  ];
  const kind = name ?? (ways ? "detours-begun" : "detours-ended");
  return { kind: "protocol", name: kind, server: 4, at_secs: at, at_nanos: null, cells };
}

const EVENTS = [
  event(1, 2, [
    [5, 4],
    [5, 4, 6],
  ]),
  event(2, 0, [[4, 5]]),
  event(3, 2, [[5, 6]]),
  event(4, 2, null),
];

test("a rack's ways are those that were told last, until they have ended", () => {
  const at = (secs: number) => detoursAt(network, EVENTS, secs).map(({ rack, tors }) => [rack, ...tors]);
  expect(at(0.5)).toEqual([]);
  expect(at(1.5)).toEqual([
    [2, 3, 2],
    [2, 3, 2, 4],
  ]);
  expect(at(3)).toEqual([
    [2, 3, 4],
    [0, 2, 3],
  ]);
  expect(at(Number.POSITIVE_INFINITY)).toEqual([[0, 2, 3]]);
});

test("what goes to a rack has ways of its own", () => {
  const events = [event(1, 2, [[5, 4]]), event(2, 2, [[5, 6]], undefined, "to the rack"), event(3, 2, null)];
  const at = (secs: number) => detoursAt(network, events, secs).map(({ rack, tors }) => [rack, ...tors]);
  expect(at(2)).toEqual([
    [2, 3, 2],
    [2, 3, 4],
  ]);
  expect(at(3)).toEqual([[2, 3, 4]]);
});

test("events of other names, and ways over what is not of this network, draw nothing", () => {
  const others = [event(1, 2, [[5, 9]]), event(2, 3, [[4, 5]], "link-state-sent")];
  expect(detoursAt(network, others, 9)).toEqual([]);
});
