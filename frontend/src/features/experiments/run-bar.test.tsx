// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createRootRoute, createRouter, RouterContextProvider } from "@tanstack/react-router";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Draft } from "./draft";
import { engineOf } from "./engine";
import { RunBar } from "./run-bar";
import type { ComposerState } from "./use-composer";

const lacking = {
  title: "The privileged helper",
  needed: true,
  available: false,
  reason: "No root.",
  fix: "",
};
const router = createRouter({ routeTree: createRootRoute() });

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => vi.unstubAllGlobals());

function shown(ready: boolean, change: (draft: Draft) => void) {
  const queries = new QueryClient();
  queries.setQueryData(["emulation"], { ready, capabilities: [lacking] });
  const plan = { family: "bcube" };
  const draft = { engine: "emulation", plan } as unknown as Draft;
  const taken = { offer: null, whole: () => ({ ...draft, plan: { ...plan, n: 8 } }) };
  const state = { taken, messages: new Map(), toCorrect: 0 } as unknown as ComposerState;
  const host = document.createElement("div");
  act(() =>
    createRoot(host).render(
      <RouterContextProvider router={router}>
        <QueryClientProvider client={queries}>
          <RunBar draft={draft} state={state} fields={{ current: null }} change={change} />
        </QueryClientProvider>
      </RouterContextProvider>,
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
  expect(change).toHaveBeenCalledOnce();
  expect(engineOf(change.mock.calls[0]![0])).toBe("flow");
  expect(change.mock.calls[0]![0].plan).toEqual({ family: "bcube", n: 8 });
});

test("where it can, nothing else is offered", () => {
  const { button } = shown(true, vi.fn());
  expect(button("Predict instead")).toBeUndefined();
  expect(button("Run")!.disabled).toBe(false);
});
