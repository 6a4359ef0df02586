import { expect, test } from "vitest";
import { formatSecs, settingText } from "./setting-text";

test("a setting has its unit behind its value, not in its name", () => {
  const texts = [
    settingText("hop_delay_secs", 0.00006),
    settingText("idle_round_trip_ps", 972_800_000),
    settingText("queue_bytes", 12_160),
    settingText("bytes", 4_000_000),
    settingText("flow_times", false),
    settingText("path_hash", "connection"),
    settingText("initial_window", 10),
    settingText("least_gain", 0.0078125),
  ].map(({ label, value }) => `${label}: ${value}`);
  expect(texts).toEqual([
    "hop delay: 60\u00a0µs",
    "idle round trip: 972.8\u00a0µs",
    "queue bytes: 12,160",
    "bytes: 4,000,000",
    "flow times: no",
    "path hash: connection",
    "initial window: 10",
    "least gain: 0.007813",
  ]);
});

test("times take the unit that fits them", () => {
  expect([0, 2.5, 0.2, 0.01, 6e-5, 1e-9, 1e-13].map(formatSecs)).toEqual([
    "0\u00a0s",
    "2.5\u00a0s",
    "200\u00a0ms",
    "10\u00a0ms",
    "60\u00a0µs",
    "1\u00a0ns",
    "0\u00a0s",
  ]);
});
