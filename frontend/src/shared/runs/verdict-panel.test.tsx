// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Run } from "@/api/types";
import VerdictPanel from "./verdict-panel";

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => vi.unstubAllGlobals());

test("faults that did not happen, or otherwise than planned, are named with the hypotheses", () => {
  const client = new QueryClient();
  const verdict = { outcome: "not-tested", hypotheses: [], not_injected: ["f1 was not injected."] };
  client.setQueryData(["verdict", "r"], { ...verdict, off_schedule: ["f2 ended 3.5 s late."] });
  client.setQueryData(["verdict", "older"], verdict);
  const shown = (id: string) => {
    const host = document.createElement("div");
    act(() =>
      createRoot(host).render(
        <QueryClientProvider client={client}>
          <VerdictPanel run={{ id } as Run} />
        </QueryClientProvider>,
      ),
    );
    return [...host.querySelectorAll("li")].map((item) => item.textContent);
  };
  expect(shown("r")).toEqual(["f1 was not injected.", "f2 ended 3.5 s late."]);
  expect(shown("older")).toEqual(["f1 was not injected."]);
});
