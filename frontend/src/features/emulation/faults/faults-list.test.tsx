// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Session } from "../session/session";
import { FaultsList } from "./faults-list";

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => vi.unstubAllGlobals());

const PLANNED = { id: "f1", kind: "link-loss", targets: ["00/<0,0>"], at_secs: 2, until_secs: 4 };

/** The list's rows after these frames of the planned fault. */
function rows(...frames: object[]): (string | undefined)[] {
  const host = document.createElement("div");
  const session = {
    faults: frames.map((frame) => ({ ...PLANNED, ...frame })),
    network: { frame: { schedule: [PLANNED] } },
    stops: [],
    report: null,
  } as unknown as Session;
  act(() =>
    createRoot(host).render(
      <QueryClientProvider client={new QueryClient()}>
        <FaultsList session={session} runId="r" over={false} />
      </QueryClientProvider>,
    ),
  );
  return [...host.querySelectorAll("li")].map((row) => row.textContent?.replaceAll(/\s/gu, " "));
}

test("a fault is listed once: as planned, then with the times at which it was injected and recovered", () => {
  expect(rows()).toEqual(["F1link loss 00/<0,0> from 2 sscheduled"]);
  const injected = { state: "injected", at_secs: 2.1 };
  expect(rows(injected)).toEqual(["F1link loss 00/<0,0> since 2.1 sRecover F1"]);
  expect(rows(injected, { state: "recovered", at_secs: 4.1 })).toEqual([
    "F1link loss 00/<0,0> 2.1 s to 4.1 srecovered",
  ]);
});

test("a fault that could not be injected is named with kind, target and reason", () => {
  expect(rows({ state: "failed", at_secs: 2.1, reason: "The kernel refuses it." })).toEqual([
    "F1link loss 00/<0,0> failed at 2.1 s. The kernel refuses it.",
  ]);
});
