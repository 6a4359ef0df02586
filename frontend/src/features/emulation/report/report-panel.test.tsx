// @vitest-environment jsdom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Report } from "../session/frames";
import { ReportPanel, Verdict } from "./report-panel";

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

function verdictOf(report: object): HTMLElement {
  const host = document.createElement("div");
  const whole = { ...PLAIN, verdict: { outcome: "none", sentence: "" }, ...report } as unknown as Report;
  act(() => createRoot(host).render(<Verdict report={whole} experiment={null} />));
  return host;
}

const FAITHFUL = { verdict: "faithful", reason: "Nothing is missing.", header_efficiency: 0.5 };

test("one verdict stands with its evidence, and only what lacks nothing is green", () => {
  const fidelity = { ...FAITHFUL, cause: "none", achieved_over_ideal: 0.48, deaths: 0, wait_secs: 0.002 };
  const host = verdictOf({ fidelity });
  expect([...host.querySelectorAll("[data-verdict]")].map((mark) => mark.textContent)).toEqual(["faithful"]);
  const evidence = [...host.querySelectorAll("dl > div")].map((row) => row.textContent!.replace(/\s/gu, " "));
  expect(evidence).toEqual([
    "Goodput of achievable96 %",
    "Wait for a processor2 ms",
    "Neighbours dead without a fault0",
  ]);
  for (const cause of ["tcp", "paths", "unknown"]) {
    const mark = verdictOf({ fidelity: { ...FAITHFUL, cause } }).querySelector("[data-verdict]")!;
    expect(mark.getAttribute("data-verdict")).toBe("below");
  }
  const older = verdictOf({ fidelity: FAITHFUL }).querySelector("[data-verdict]")!;
  expect(older.getAttribute("data-verdict")).toBe("faithful");
});

test("a fault that did not happen is named, and one that was down already was not detected", () => {
  const missing = { id: "f1", kind: "link-loss", targets: ["00/<0,0>"], reason: "no netem." };
  const host = verdictOf({ fidelity: FAITHFUL, not_injected: [missing] });
  expect(host.textContent).toContain("f1 (");
  expect(host.textContent).toContain("was not injected: no netem.");
  const fault = { id: "f1", kind: "cable-pulled", targets: ["00/<0,0>"], detected_secs: null, moves: 0 };
  expect(shown({ faults: [{ ...fault, recovered_secs: null, already_down: true }] })).toContain(
    "it was down already",
  );
});

test("a fault that began or ended otherwise than planned is named in the verdict and in its row", () => {
  const fault = {
    id: "f1",
    kind: "cable-pulled",
    targets: ["00/<0,0>"],
    detected_secs: null,
    moves: 0,
    recovered_secs: null,
  };
  const late = { ...fault, late_secs: 5, lasted_secs: 1, planned_secs: 3 };
  const stuck = { ...fault, id: "f2", overran_secs: 4, not_recovered: "not now." };
  const words = (host: HTMLElement, id: string) =>
    [...host.querySelectorAll(`[data-off-schedule="${id}"]`)].map((item) =>
      item.textContent!.replace(/\s/gu, " "),
    );
  const faults = [late, stuck, { ...fault, id: "f3", overran_secs: 2 }, { ...fault, id: "f4" }];
  const host = verdictOf({ fidelity: FAITHFUL, faults });
  expect(words(host, "f1")[0]).toContain("was injected 5 s late and lasted 1 s of 3 s.");
  expect(words(host, "f2")[0]).toContain("could not be recovered (not now).");
  expect(words(host, "f3")[0]).toContain("ended 2 s late.");
  expect(words(host, "f4")).toEqual([]);
  const judged = verdictOf({
    fidelity: FAITHFUL,
    faults,
    verdict: { outcome: "held", sentence: "f1 was late." },
  });
  expect(words(judged, "f1"), "its sentence names them").toEqual([]);
  expect(shown({ faults: [late] })).toContain("was injected");
});

test("a report without either has neither", () => {
  expect(shown({})).not.toMatch(/uncoupled|Upgrade/);
  expect(shown({})).toContain("The whole run");
  expect(shown({})).not.toContain("before");
});
