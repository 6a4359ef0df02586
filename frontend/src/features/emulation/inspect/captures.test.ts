import { expect, test } from "vitest";
import { captureText } from "./captures";

test.each([
  ["bytes", "944 packets, 4.2 MB; ended at the limit of 4.2 MB"],
  ["secs", "944 packets, 4.2 MB; ended at the limit of 10 s"],
  [
    "interface-down",
    "944 packets, 4.2 MB; ended as the link went down, its server was turned off, or the run ended",
  ],
  [null, "944 packets, 4.2 MB"],
] as const)("a capture names its end: %s", (end, text) => {
  const limits = { max_bytes: 4 * 2 ** 20, max_secs: 10 };
  const identity = { id: "c", run_id: "r", target: "00/<0,0>", created_at: "" };
  const counts = { state: "done" as const, reason: "", packets: 944, missed: 0, size_bytes: 4_194_236 };
  const shown = captureText({ ...identity, ...counts, ...limits, end });
  expect(shown.replace(/\s/gu, " ")).toBe(text);
});
