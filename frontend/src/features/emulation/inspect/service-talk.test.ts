import { expect, test } from "vitest";
import type { NetworkFrame, SessionEvent } from "../session/frames";
import { networkOf } from "../session/network";
import { hasTalk, talkOf } from "./service-talk";

const network = networkOf({
  servers: { id: [0, 7], name: ["00", "07"] },
  switches: { id: [], name: [] },
  links: { id: [], a: [], b: [], a_port: [], b_port: [], level: [] },
  flows: { source: [], destination: [], ideal_bits_per_sec: [] },
} as unknown as NetworkFrame);

function entry(at: number, server: number, name: string, cells: Record<string, unknown>): SessionEvent {
  const typed = Object.entries(cells).map(([cell, value]) => ({ name: cell, kind: "text" as const, value }));
  return { kind: "protocol", name, server, at_secs: at, at_nanos: null, cells: typed };
}

const EVENTS = [
  entry(1, 7, "service-message", { service: "store", message: "get a", bytes: 5 }),
  entry(1, 0, "service-message", { service: "other", message: "count", bytes: 5 }),
  entry(2, 7, "service-answer", { service: "store", answer: "VALUE ", parts_left: 1 }),
  entry(2, 0, "service-answer", { service: "store", answer: "MISS a" }),
  entry(2, 7, "service-answer", { service: "store", answer: "a b" }),
  entry(3, 0, "key-remapped", { key: 0 }),
  entry(4, 7, "service-message", { service: "store", message: "set a", bytes: 9000 }),
];

test("a service's messages and answers are told the newest first, and parts of a text are put together", () => {
  const talk = talkOf(network, EVENTS, "store", 9).map(({ at, name, text, kind }) => [at, name, kind, text]);
  expect(talk).toEqual([
    [4, "07", "message", "set a…"],
    [2, "07", "answer", "VALUE a b"],
    [2, "00", "answer", "MISS a"],
    [1, "07", "message", "get a"],
  ]);
});

test("nothing later than the shown time is told", () => {
  expect(talkOf(network, EVENTS, "store", 1.5).map(({ text }) => text)).toEqual(["get a"]);
  expect(talkOf(network, EVENTS, "none", 9)).toEqual([]);
});

test("a run in which nobody talked to a service has no talk", () => {
  expect(hasTalk(EVENTS)).toBe(true);
  expect(hasTalk(EVENTS.filter((event) => event.kind === "protocol" && event.name === "key-remapped"))).toBe(
    false,
  );
});
