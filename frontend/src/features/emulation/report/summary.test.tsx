// @vitest-environment jsdom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Run } from "@/api/types";
import type { Tick } from "../session/frames";
import { emptySession } from "../session/session";
import { Numbers } from "./summary";

const RUN = { state: "running", points_done: 0, points_total: 1, progress: 0 } as Run;

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => vi.unstubAllGlobals());

function shown(...cpu: number[]): HTMLElement {
  const history = cpu.map((share, i) => ({ at: i / 10, cpu: share, goodput: 1e6, abt: 1e6 }) as Tick);
  const host = document.createElement("div");
  act(() =>
    createRoot(host).render(<Numbers session={{ ...emptySession(RUN), history }} tick={history.at(-1)!} />),
  );
  return host;
}

test("a running session says once that its verdict comes at the end", () => {
  const marks = shown(0.2).querySelectorAll("[data-verdict]");
  expect([...marks].map((mark) => mark.textContent)).toEqual(["verdict at end of run"]);
});

test("a host that is busy for a second is warned of once, in its own tile; one busy tick is not", () => {
  const busy = shown(...Array.from({ length: 12 }, () => 1));
  expect(busy.querySelectorAll("[data-busy]")).toHaveLength(1);
  expect(busy.querySelector("[data-busy]")!.textContent).toContain("this machine may be the limit");
  expect(shown(...Array.from({ length: 12 }, () => 0.4), 1).querySelectorAll("[data-busy]")).toHaveLength(0);
});
