import { expect, test } from "vitest";
import { COALESCE_MS, edit, redo, startHistory, undo } from "./history";

test("undo goes back step by step and redo forward again", () => {
  let h = startHistory(0);
  h = edit(h, 1, "n", 0);
  h = edit(h, 2, "k", 0);
  expect(undo(h).present).toBe(1);
  expect(undo(undo(h)).present).toBe(0);
  expect(undo(undo(undo(h)))).toEqual(undo(undo(h)));
  expect(redo(undo(h))).toMatchObject({ past: [0, 1], present: 2, future: [] });
  expect(redo(h)).toBe(h);
});

test("typing one number is one step; another field, a pause or an undo begins a new one", () => {
  let h = startHistory(8);
  h = edit(h, 1, "n", 0);
  h = edit(h, 16, "n", COALESCE_MS - 1);
  expect(h.past).toEqual([8]);
  expect(edit(h, 17, "n", 3 * COALESCE_MS).past).toEqual([8, 16]);
  expect(edit(h, 17, "k", COALESCE_MS).past).toEqual([8, 16]);
  const back = undo(h);
  expect(edit(back, 9, "n", COALESCE_MS).past).toEqual([8]);
});

test("an edit after an undo drops the future", () => {
  const h = edit(undo(edit(startHistory("a"), "b", "x", 0)), "c", "x", 10_000);
  expect(h).toMatchObject({ past: ["a"], present: "c", future: [] });
});

test("any mix of edits and undos keeps the walk consistent", () => {
  let h = startHistory(0);
  const line = [0];
  let at = 0;
  let seed = 7;
  for (let step = 1; step < 500; step++) {
    seed = (seed * 48_271) % 2_147_483_647;
    const kind = seed % 3;
    if (kind === 0) {
      line.length = at + 1;
      line.push(step);
      at++;
      h = edit(h, step, `field ${step}`, step);
    } else if (kind === 1 && at > 0) {
      at--;
      h = undo(h);
    } else if (kind === 2 && at < line.length - 1) {
      at++;
      h = redo(h);
    }
    expect(h.present).toBe(line[at]);
    expect(h.future.length).toBe(line.length - 1 - at);
  }
});
