import { expect, test } from "vitest";
import { type LogEntry, matching } from "./event-text";

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
