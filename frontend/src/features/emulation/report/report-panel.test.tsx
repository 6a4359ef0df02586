// @vitest-environment jsdom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Report } from "../session/frames";
import { ReportPanel } from "./report-panel";

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => vi.unstubAllGlobals());

const PLAIN = { fidelity: {}, windows: {}, faults: [], predicted: {}, total: {} };

function shown(report: object): string {
  const host = document.createElement("div");
  act(() =>
    createRoot(host).render(
      <ReportPanel report={{ ...PLAIN, ...report } as unknown as Report} scheduled={0} />,
    ),
  );
  return host.textContent!;
}

test("what is ours in the comparison is said, and so is what an upgrade came to", () => {
  const upgrade = { title: "one to two", steps: 8, steps_done: 7, connections_lost: 2 };
  const text = shown({ predicted: { choices: ["MPTCP, uncoupled: the kernel has no LIA."] }, upgrade });
  expect(text).toContain("MPTCP, uncoupled: the kernel has no LIA.");
  expect(text).toContain("Upgrade from one to two: 7 of 8 steps done, 2 connections lost.");
  expect(text).toContain("Before, during and after the upgrade");
});

test("images are named with the servers that run them and with their ends", () => {
  const end = (server: string) => ({ server, at_secs: 4, status: 3, message: "no room" });
  const image = { image: "web:1", command: [], servers: ["00", "01"], identities: [], ended: [end("01")] };
  const text = shown({
    images: [image, { ...image, servers: ["02"], ended: ["1", "2", "3", "4"].map(end) }],
  });
  expect(text.replace(/\s/gu, " ")).toContain(
    "Image web:1 on 2 servers. On 01 it ended at 4 s with status 3: no room.",
  );
  expect(text).toContain("Image web:1 on 1 server. On 1 it ended");
  expect(text).toContain("1 more ended.");
});

test("a report without either has neither", () => {
  expect(shown({})).not.toMatch(/uncoupled|Upgrade/);
  expect(shown({})).toContain("The whole run");
  expect(shown({})).not.toContain("before");
});
