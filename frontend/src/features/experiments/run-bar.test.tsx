// @vitest-environment jsdom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Draft } from "./draft";
import type { ComposerState } from "./use-composer";

const lacking = {
  title: "The privileged helper",
  needed: true,
  available: false,
  reason: "No root.",
  fix: "",
};
const machine = vi.hoisted(() => ({ data: {} as object }));
vi.mock("../shared/use-machine", () => ({ useMachine: () => machine }));
vi.mock("@tanstack/react-router", () => ({ useNavigate: () => vi.fn() }));
vi.mock("./engine-section", () => ({ toEngine: (draft: Draft, engine: string) => ({ ...draft, engine }) }));
const { RunBar } = await import("./run-bar");

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => vi.unstubAllGlobals());

function shown(ready: boolean, change: (draft: Draft) => void) {
  machine.data = { ready, capabilities: [lacking] };
  const plan = { family: "bcube" };
  const draft = { engine: "emulation", plan } as unknown as Draft;
  const taken = { offer: null, whole: () => ({ ...draft, plan: { ...plan, n: 8 } }) };
  const state = { taken, messages: new Map(), toCorrect: 0 } as unknown as ComposerState;
  const host = document.createElement("div");
  act(() =>
    createRoot(host).render(
      <RunBar draft={draft} state={state} fields={{ current: null }} change={change} />,
    ),
  );
  const button = (text: string) => [...host.querySelectorAll("button")].find((it) => it.textContent === text);
  return { host, button };
}

test("where nothing can be emulated, Run has the reason and the whole plan can be predicted instead", () => {
  const change = vi.fn();
  const { host, button } = shown(false, change);
  expect(host.textContent).toContain(
    "This machine cannot run emulations yet. The privileged helper: No root.",
  );
  expect(button("Run")!.disabled).toBe(true);
  act(() => button("Predict instead")!.click());
  expect(change).toHaveBeenCalledWith({ engine: "flow", plan: { family: "bcube", n: 8 } });
});

test("where it can, nothing else is offered", () => {
  const { button } = shown(true, vi.fn());
  expect(button("Predict instead")).toBeUndefined();
  expect(button("Run")!.disabled).toBe(false);
});
