// @vitest-environment jsdom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MachineBanner } from "./machine-banner";

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => vi.unstubAllGlobals());

const MACHINE = {
  ready: true,
  modes: ["containers" as const, "namespaces" as const],
  capabilities: [],
  missing_kinds: [],
  fabric: null,
  cores: 2,
  memory_free_bytes: 1e9,
  max_servers: 16,
  workers: { namespaces: 1, containers: 0, images: 0 },
  hosts: [],
};

/** The banner's word of workers for this setup. */
function word(mode: string, withImages: boolean, workers: Partial<typeof MACHINE.workers>) {
  const host = document.createElement("div");
  const machine = { ...MACHINE, workers: { ...MACHINE.workers, ...workers } };
  const banner = <MachineBanner machine={machine} mode={mode} withImages={withImages} onMode={() => {}} />;
  act(() => createRoot(host).render(banner));
  return host.querySelector("[role=status]")?.textContent;
}

test("reports that no worker can run what the setup needs, and nothing where one can", () => {
  expect(word("namespaces", false, {})).toBeUndefined();
  expect(word("namespaces", false, { namespaces: 0 })).toBe(
    "No worker can run servers as namespaces now. Runs wait until one can.",
  );
  expect(word("containers", false, {})).toBe(
    "No worker can run servers as containers now. Runs wait until one can.",
  );
  expect(word("containers", false, { containers: 1 })).toBeUndefined();
  expect(word("containers", true, { containers: 1 })).toBe(
    "No worker can run images of users now. Runs wait until one can.",
  );
});
