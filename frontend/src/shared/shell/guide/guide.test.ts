// @vitest-environment jsdom
import { beforeEach, expect, test } from "vitest";
import { HINTS, hintFor } from "./guide-hints";
import { readGuide, STEPS, useGuide } from "./guide-state";

beforeEach(() => {
  localStorage.clear();
  useGuide.setState({ at: null, closed: false });
  document.body.replaceChildren();
});

test("steps that were done take the guide on, never back, and only once it was started", () => {
  const { reach, start, next } = useGuide.getState();
  reach("emulate");
  expect(useGuide.getState().at).toBeNull();
  start();
  reach("predict");
  expect(useGuide.getState().at).toBe(3);
  reach("plan");
  expect(useGuide.getState().at).toBe(3);
  for (let i = 0; i < 9; i++) next();
  expect(useGuide.getState().at).toBe(STEPS.length);
});

test("the browser remembers the step and that it was closed", () => {
  const { start, next, close } = useGuide.getState();
  start();
  next();
  expect(readGuide(localStorage.getItem("cubeyard.guide"))).toEqual({ at: 1, closed: false });
  close();
  expect(readGuide(localStorage.getItem("cubeyard.guide"))).toEqual({ at: 1, closed: true });
  useGuide.getState().reach("pull");
  expect(useGuide.getState().at).toBe(1);
});

test.each([null, "", "7", "null", '{"at":99}', '{"at":-1}', '{"at":"x"}', "{"])(
  "%s in the browser's memory is a guide never seen",
  (text) => {
    expect(readGuide(text)).toEqual({ at: null, closed: false });
  },
);

test("a step points at the first of its controls that can be used", () => {
  const add = (target: string, disabled = false) => {
    const button = document.createElement("button");
    button.dataset.guide = target;
    button.disabled = disabled;
    button.getBoundingClientRect = () => ({ width: 10, height: 10 }) as DOMRect;
    document.body.append(button);
    return button;
  };
  expect(hintFor("predict")).toEqual({ hint: HINTS.predict.at(-1), control: null });
  const nav = add("nav-plan");
  expect(hintFor("predict").control).toBe(nav);
  const predict = add("predict");
  expect(hintFor("predict").control).toBe(predict);
  const run = add("run", true);
  expect(hintFor("predict").control).toBe(predict);
  run.disabled = false;
  expect(hintFor("predict").control).toBe(run);
});

test("a step goes where its reader is: an emulation that is about to run, that starts, that has ended", () => {
  const add = (target: string) => {
    const button = document.createElement("button");
    button.dataset.guide = target;
    button.getBoundingClientRect = () => ({ width: 10, height: 10 }) as DOMRect;
    document.body.append(button);
    return button;
  };
  add("nav-plan");
  add("nav-runs");
  add("method");
  const run = add("run");
  expect(hintFor("emulate").hint.target).toBe("method");
  run.dataset.guide = "run-emulation";
  expect(hintFor("emulate").control).toBe(run);
  run.remove();
  const starting = add("starting");
  expect(hintFor("pull").control).toBe(starting);
  const again = add("run-again");
  expect(hintFor("pull").control).toBe(again);
});
