// @vitest-environment jsdom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Run } from "@/api/types";
import type { Tick } from "../session/frames";
import { emptySession, type Session } from "../session/session";
import { Numbers } from "./summary";

const RUN = { state: "running", points_done: 0, points_total: 1, progress: 0 } as Run;

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => vi.unstubAllGlobals());

function shown(...cpu: number[]): HTMLElement {
  const history = cpu.map((share, i) => ({ at: i / 10, cpu: share, goodput: 1e6, abt: 1e6 }) as Tick);
  const host = document.createElement("div");
  act(() =>
    createRoot(host).render(
      <Numbers session={{ ...emptySession(RUN), history }} tick={history.at(-1)!} following />,
    ),
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
  expect(busy.querySelector("[data-busy]")!.textContent).toContain("may be the limit");
  expect(shown(...Array.from({ length: 12 }, () => 0.4), 1).querySelectorAll("[data-busy]")).toHaveLength(0);
});

test("a run that is over has means of the run, and a moment of it that moment's numbers", () => {
  const tick = { at: 12, cpu: 1, goodput: 200e6, abt: 59e6 } as Tick;
  const total = { secs: 12, goodput_bits_per_sec: 171e6, abt_bits_per_sec: 88e6, cpu: 0.82 };
  const network = {
    frame: {
      seconds: 12,
      header_efficiency: 0.5,
      predicted: { ideal_bits_per_sec: 400e6, abt_bits_per_sec: 320e6 },
    },
  };
  // From 6 s on a fault halves the achievable throughput.
  const predicted = [{ at_secs: 6, ideal_bits_per_sec: 200e6, abt_bits_per_sec: 160e6 }];
  const session = {
    ...emptySession({ ...RUN, state: "succeeded" } as Run),
    history: [tick],
    report: { total, fidelity: null },
    network,
    predicted,
  } as unknown as Session;
  const texts = (following: boolean) => {
    const host = document.createElement("div");
    act(() => createRoot(host).render(<Numbers session={session} tick={tick} following={following} />));
    return [...host.querySelectorAll("dt, dd")]
      .slice(0, 6)
      .map((item) => item.textContent!.replaceAll("\u00a0", " ").replace("no verdict", ""));
  };
  expect(texts(true)).toEqual([
    "Goodput, mean",
    "171 Mb/s 86 % of ideal",
    "ABT, mean",
    "88.0 Mb/s predicted 120 Mb/s",
    "Host CPU, mean",
    "82 % of all cores",
  ]);
  expect(texts(false)).toEqual([
    "Goodput",
    "200 Mb/s 100 % of ideal",
    "ABT",
    "59.0 Mb/s predicted 80.0 Mb/s",
    "Host CPU",
    "100 % of all cores",
  ]);
});
