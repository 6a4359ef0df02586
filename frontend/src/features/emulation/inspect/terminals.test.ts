import { expect, test } from "vitest";
import { CONNECTING, type TerminalStatus } from "./terminal-talk";
import { NO_TERMINALS, withoutShell, withShell, withStatus } from "./terminals";

const OPEN: TerminalStatus = { state: "open", text: "Shell started.", exitCode: null };
const names = (terminals: typeof NO_TERMINALS) => terminals.open.map(({ name }) => name);

test("terminals of several servers stay open, the latest on top", () => {
  let all = withShell(withShell(NO_TERMINALS, "r", "00"), "r", "01");
  expect([names(all), all.shown]).toEqual([["00", "01"], "01"]);
  all = withStatus(all, all.open[0]!.opening, OPEN);
  expect(all.open.map(({ status }) => status)).toEqual([OPEN, CONNECTING]);
  all = withoutShell(all, "01");
  expect([names(all), all.shown]).toEqual([["00"], "00"]);
  expect(withoutShell(all, "00").shown).toBeNull();
});

test("a server's second shell takes the place of its first, which is told nothing any more", () => {
  const first = withShell(withShell(NO_TERMINALS, "r", "00"), "r", "01");
  const again = withShell(first, "r", "00");
  expect([names(again), again.shown]).toEqual([["00", "01"], "00"]);
  expect(again.open[0]!.opening).not.toBe(first.open[0]!.opening);
  expect(withStatus(again, first.open[0]!.opening, OPEN)).toEqual(again);
});

test("what is closed beside the shown one leaves it on top, and another run has terminals of its own", () => {
  const three = ["00", "01", "10"].reduce((all, name) => withShell(all, "r", name), NO_TERMINALS);
  expect(withoutShell(three, "00").shown).toBe("10");
  expect(withoutShell({ ...three, shown: "00" }, "00").shown).toBe("01");
  expect(names(withShell(three, "other", "00"))).toEqual(["00"]);
});
