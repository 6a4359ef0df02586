// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createRootRoute, createRouter, RouterContextProvider } from "@tanstack/react-router";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { api } from "@/api/client";
import type { Report } from "../session/frames";
import { Verdict } from "./report-panel";

const router = createRouter({ routeTree: createRootRoute() });

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function verdict(advice: string | null): HTMLElement {
  const report = {
    verdict: { outcome: "none", sentence: "" },
    faults: [],
    not_injected: [],
    fidelity: { verdict: "faithful", cause: "tcp", reason: "ABT is 62 % of the prediction.", advice },
  } as unknown as Report;
  const host = document.createElement("div");
  act(() =>
    createRoot(host).render(
      <RouterContextProvider router={router}>
        <QueryClientProvider client={new QueryClient()}>
          <Verdict report={report} experiment="old" />
        </QueryClientProvider>
      </RouterContextProvider>,
    ),
  );
  return host;
}

test("where TCP gave the slowest less, the same experiment runs again with fair queues", async () => {
  const answered = (data: unknown) => ({ data, response: new Response() }) as never;
  const navigate = vi.spyOn(router, "navigate").mockResolvedValue();
  vi.spyOn(api, "GET").mockResolvedValue(answered("the scenario"));
  const posted = vi
    .spyOn(api, "POST")
    .mockResolvedValueOnce(
      answered({ plan: { family: "bcube" }, emulation: { seconds: 5, queues: "shared" } }),
    )
    .mockResolvedValueOnce(answered({ id: "new" }))
    .mockResolvedValueOnce(answered({ id: "the-run" }));
  expect(verdict("less-work").querySelector("button")).toBeNull();
  const host = verdict("fair-queues");
  const button = host.querySelector("button")!;
  expect(button.textContent).toBe("Run again with fair queues");
  act(() => button.click());
  await act(() => vi.waitFor(() => expect(navigate).toHaveBeenCalled()));
  expect(posted).toHaveBeenNthCalledWith(1, "/api/v1/scenarios/read", { body: { text: "the scenario" } });
  expect(posted).toHaveBeenNthCalledWith(2, "/api/v1/experiments", {
    body: { plan: { family: "bcube" }, emulation: { seconds: 5, queues: "fair" } },
  });
  expect(posted).toHaveBeenLastCalledWith("/api/v1/experiments/{id}/runs", {
    params: { path: { id: "new" } },
  });
  expect(navigate.mock.calls[0]![0]).toMatchObject({ to: "/runs/$id", params: { id: "the-run" } });
});
