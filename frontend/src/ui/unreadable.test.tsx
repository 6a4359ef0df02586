// @vitest-environment jsdom

import { act, useState } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Field, NumberInput } from "./form";
import { UnreadableInputs } from "./unreadable";

let host: HTMLDivElement;
let root: Root;
let outside: (value: number | null) => void;
const sent: (number | null)[] = [];

function Form() {
  const [value, setValue] = useState<number | null>(8);
  const [unreadable, setUnreadable] = useState(0);
  outside = setValue;
  return (
    <UnreadableInputs onCount={setUnreadable}>
      <Field label="Ports">
        {({ id }) => (
          <NumberInput
            id={id}
            integer
            min={2}
            max={1024}
            value={value}
            onChange={(next) => {
              sent.push(next);
              setValue(next);
            }}
          />
        )}
      </Field>
      <button type="button" disabled={unreadable > 0}>
        Run
      </button>
    </UnreadableInputs>
  );
}

beforeEach(() => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  sent.length = 0;
  host = document.createElement("div");
  document.body.append(host);
  root = createRoot(host);
  act(() => root.render(<Form />));
});

afterEach(() => {
  act(() => root.unmount());
  host.remove();
  vi.unstubAllGlobals();
});

const input = () => host.querySelector("input")!;
const run = () => host.querySelector("button")!;

function type(text: string): void {
  act(() => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")!.set!.call(input(), text);
    input().dispatchEvent(new Event("input", { bubbles: true }));
  });
}

function leave(): void {
  act(() => {
    input().dispatchEvent(new FocusEvent("focusout", { bubbles: true }));
  });
}

test.each(["abc", "8x", "2.5", "", "--"])(
  "%j stays in the field, is marked, and nothing can be run",
  (text) => {
    type(text);
    leave();
    expect(input().value).toBe(text);
    expect(input().getAttribute("aria-invalid")).toBe("true");
    expect(host.textContent).toContain("Type a whole number, 2 to 1,024.");
    expect(run().disabled).toBe(true);
    expect(sent).toEqual([]);
  },
);

test("a text that can be read again, or a value from elsewhere, frees the form", () => {
  type("abc");
  type("16");
  expect(sent).toEqual([16]);
  expect(run().disabled).toBe(false);
  type("x");
  expect(run().disabled).toBe(true);
  act(() => outside(4));
  expect(input().value).toBe("4");
  expect(run().disabled).toBe(false);
  expect(host.textContent).not.toContain("Type a whole number");
});

test("a number out of range is sent, as the engine explains it", () => {
  type("5000");
  leave();
  expect(sent).toEqual([5000]);
  expect(run().disabled).toBe(false);
});
