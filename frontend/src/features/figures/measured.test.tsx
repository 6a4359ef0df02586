// @vitest-environment jsdom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FigureResult } from "@/api/types";
import type { Fidelity } from "./figures";
import { FidelityNote } from "./measured";

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => vi.unstubAllGlobals());

function shown(fidelity: Fidelity) {
  const host = document.createElement("div");
  const result = { provenance: { fidelity } } as unknown as FigureResult;
  act(() => createRoot(host).render(<FidelityNote result={result} />));
  return { text: host.textContent, icon: host.querySelector("path")!.getAttribute("d") };
}

test("a measurement below the prediction has no tick", () => {
  const whole = shown({ verdict: "faithful", cause: "none", reason: "Nothing is missing." });
  const below = shown({ verdict: "faithful", cause: "tcp", reason: "ABT is 62 % of the prediction." });
  expect(whole.text).toBe("faithful");
  expect(below.text).toBe("faithful, below the prediction");
  expect(below.icon).not.toBe(whole.icon);
  expect(shown({ verdict: "faithful", reason: "An older result." })).toEqual(whole);
});
