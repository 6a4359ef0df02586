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

test("a report without either has neither", () => {
  expect(shown({})).not.toMatch(/uncoupled|Upgrade/);
  expect(shown({})).toContain("The whole run");
  expect(shown({})).not.toContain("before");
});
