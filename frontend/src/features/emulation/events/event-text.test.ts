import { expect, test } from "vitest";
import type { Network } from "../session/network";
import { type LogEntry, matching, untitledText } from "./event-text";

const entry = (at: number, kind: string, server: string, text: string): LogEntry => ({
  at,
  kind,
  server,
  text,
  tone: "plain",
  row: null,
  flow: null,
});
const log = [
  entry(3, "carrier", "01", "port 0: carrier is down"),
  entry(2, "path-switched", "10", "00 → 11 rerouted"),
  entry(1, "carrier", "10", "port 1: carrier is up"),
];

test("a log is filtered by time, kind and words of server or text, in any case", () => {
  expect(matching(log, { kind: "", words: " ", until: 9 })).toEqual(log);
  expect(matching(log, { kind: "", words: "", until: 2 })).toEqual(log.slice(1));
  expect(matching(log, { kind: "carrier", words: "", until: 9 })).toEqual([log[0], log[2]]);
  expect(matching(log, { kind: "", words: "CARRIER IS UP", until: 9 })).toEqual([log[2]]);
  expect(matching(log, { kind: "carrier", words: "10 port", until: 9 })).toEqual([log[2]]);
  expect(matching(log, { kind: "carrier", words: "rerouted", until: 9 })).toEqual([]);
});

test("a value without a title is told by its name and the unit at its end", () => {
  const text = (cell: string, value: unknown) => untitledText({} as Network, cell, "count", value);
  expect(text("questions", 3)).toBe("questions 3");
  expect(text("queue_bytes", 90_720).replace(/\s/gu, " ")).toBe("queue 91 KB");
  expect(text("reaction_micros", 1310).replace(/\s/gu, " ")).toBe("reaction 1,310 µs");
  expect(text("queue_bytes", null)).toBe("queue bytes –");
});
