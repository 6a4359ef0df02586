// @vitest-environment jsdom

import { beforeEach, expect, test } from "vitest";
import { nextOpen } from "./steps";
import { batchOf, forget, keep, readWaiting, type Tick, withoutSent } from "./waiting";

const done: Tick = { state: "done", note: "" };
const bent: Tick = { state: "exception", note: "bent" };

beforeEach(() => localStorage.clear());

test("what is kept is read again, for its own plan and revision only", () => {
  keep(localStorage, "a", 1, 3, done);
  keep(localStorage, "a", 1, 4, bent);
  keep(localStorage, "a", 12, 5, done);
  keep(localStorage, "b", 1, 6, done);
  forget(localStorage, "a", 1, 3);
  expect([...readWaiting(localStorage, "a", 1)]).toEqual([[4, bent]]);
});

test("entries that are not readable are passed over", () => {
  keep(localStorage, "a", 1, 3, done);
  const prefix = localStorage.key(0)!.slice(0, -1);
  for (const [key, text] of [
    ["4", "{"],
    ["5", '{"state":"gone","note":""}'],
    ["x", '{"state":"done","note":""}'],
    ["7", "null"],
  ])
    localStorage.setItem(prefix + key, text!);
  expect([...readWaiting(localStorage, "a", 1).keys()]).toEqual([3]);
});

test("a tick that changed while it was sent still waits", () => {
  const sent = new Map([
    [1, done],
    [2, done],
  ]);
  const now = new Map([
    [1, { ...done }],
    [2, bent],
    [3, done],
  ]);
  expect([...withoutSent(now, sent)]).toEqual([
    [2, bent],
    [3, done],
  ]);
});

test("batches are sent from the front until nothing is left", () => {
  let waiting = new Map(Array.from({ length: 7 }, (_, cable) => [cable, done] as const));
  const sizes: number[] = [];
  while (waiting.size > 0) {
    const batch = batchOf(waiting, 3);
    sizes.push(batch.size);
    waiting = withoutSent(waiting, batch);
  }
  expect(sizes).toEqual([3, 3, 1]);
});

test("the next open cable is looked for around the list, once", () => {
  const list = [10, 11, 12, 13];
  const open = new Set([11, 13]);
  const isOpen = (cable: number) => open.has(cable);
  expect([0, 1, 2, 3, 4].map((from) => nextOpen(list, from, isOpen))).toEqual([1, 1, 3, 3, 1]);
  open.clear();
  expect(nextOpen(list, 0, isOpen)).toBeNull();
});
