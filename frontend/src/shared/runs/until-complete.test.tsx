// @vitest-environment jsdom

import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, test, vi } from "vitest";
import type { FeedState } from "./run-feed";
import type { RunState } from "./runs";
import { UntilComplete } from "./until-complete";

/** The texts on screen after each of these states of a run and its feed. */
function shown(steps: readonly (readonly [RunState, FeedState])[]): string[] {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  const host = document.createElement("div");
  const root = createRoot(host);
  const texts = steps.map(([state, feed]) => {
    act(() =>
      root.render(
        <UntilComplete state={state} feed={feed}>
          content
        </UntilComplete>,
      ),
    );
    return host.textContent === "content" ? "content" : "skeleton";
  });
  act(() => root.unmount());
  vi.unstubAllGlobals();
  return texts;
}

test("a finished run is not shown before its feed is complete", () => {
  expect(
    shown([
      ["succeeded", "connecting"],
      ["succeeded", "live"],
      ["succeeded", "lost"],
      ["succeeded", "live"],
      ["succeeded", "over"],
    ]),
  ).toEqual(["skeleton", "skeleton", "skeleton", "skeleton", "content"]);
});

test("a live run is shown from its first frame to its end", () => {
  expect(
    shown([
      ["running", "connecting"],
      ["running", "live"],
      ["succeeded", "live"],
      ["succeeded", "over"],
    ]),
  ).toEqual(["content", "content", "content", "content"]);
});

test("a run that the server refuses to tell says so at once", () => {
  expect(shown([["failed", "refused"]])).toEqual(["content"]);
});
