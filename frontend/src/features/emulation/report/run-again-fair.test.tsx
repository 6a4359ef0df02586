// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Report } from "../session/frames";

const { navigate, posted } = vi.hoisted(() => ({ navigate: vi.fn(), posted: vi.fn() }));
vi.mock("@tanstack/react-router", () => ({ useNavigate: () => navigate }));
vi.mock("@/api/client", () => ({
  take: (answer: unknown) => answer,
  api: {
    GET: async () => "the scenario",
    POST: async (path: string, given: { body?: unknown; params?: unknown }) => {
      posted(path, given);
      if (path === "/api/v1/scenarios/read")
        return { plan: { family: "bcube" }, emulation: { seconds: 5, queues: "shared" } };
      return { id: path.endsWith("/runs") ? "the-run" : "new" };
    },
  },
}));
const { Verdict } = await import("./report-panel");

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => vi.unstubAllGlobals());

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
      <QueryClientProvider client={new QueryClient()}>
        <Verdict report={report} experiment="old" />
      </QueryClientProvider>,
    ),
  );
  return host;
}

test("where TCP gave the slowest less, the same experiment runs again with fair queues", async () => {
  expect(verdict("less-work").querySelector("button")).toBeNull();
  const host = verdict("fair-queues");
  const button = host.querySelector("button")!;
  expect(button.textContent).toBe("Run again with fair queues");
  act(() => button.click());
  await act(() => vi.waitFor(() => expect(navigate).toHaveBeenCalled()));
  expect(posted).toHaveBeenCalledWith("/api/v1/experiments", {
    body: { plan: { family: "bcube" }, emulation: { seconds: 5, queues: "fair" } },
  });
  expect(posted).toHaveBeenLastCalledWith("/api/v1/experiments/{id}/runs", {
    params: { path: { id: "new" } },
  });
  expect(navigate).toHaveBeenCalledWith({ to: "/runs/$id", params: { id: "the-run" } });
});
