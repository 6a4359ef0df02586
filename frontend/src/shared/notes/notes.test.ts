import { expect, test } from "vitest";
import type { Note } from "@/api/types";
import { anchorText, byMoment, countText, endsText, shownNotes } from "./notes";

function note(fields: Partial<Omit<Note, "anchor">> & { anchor?: Partial<Note["anchor"]> }): Note {
  const anchor = {
    kind: "rack",
    name: "R00",
    ends: null,
    run: null,
    at_secs: null,
    ...fields.anchor,
  } as Note["anchor"];
  return {
    id: "0a1b2c3d4e5f6g",
    plan: null,
    revision: null,
    here: null,
    text: "",
    version: 1,
    by: "this machine",
    at: "2026-11-23T10:00:00Z",
    edited_by: null,
    edited_at: null,
    resolved_by: null,
    resolved_at: null,
    ...fields,
    anchor,
  };
}

test("a note says what it is pinned to", () => {
  expect(anchorText(note({ anchor: { name: "R03" } }))).toBe("R03");
  expect(anchorText(note({ anchor: { kind: "moment", name: null, run: "r", at_secs: -0.5 } }))).toBe(
    "−0.5 s of a run",
  );
  expect(endsText(note({}))).toBeNull();
  expect(endsText(note({ anchor: { kind: "cable", ends: ["00", "eth1", "<1,0>", "P0"] } }))).toBe(
    "00 eth1 – <1,0> P0",
  );
});

test("resolved notes are shown when asked for, and counted", () => {
  const open = note({ id: "a" });
  const resolved = note({ id: "b", resolved_by: "x", resolved_at: "2026-11-23T11:00:00Z" });
  expect(shownNotes([resolved, open], false)).toEqual([open]);
  expect(shownNotes([resolved, open], true)).toEqual([resolved, open]);
  expect(countText([])).toBe("0 open notes");
  expect(countText([open])).toBe("1 open note");
  expect(countText([open, open, resolved])).toBe("2 open notes, 1 resolved");
});

test("moments are in the order of the run's clock, others are left out", () => {
  const at = (secs: number, written: string) =>
    note({ id: written, at: written, anchor: { kind: "moment", name: null, at_secs: secs } });
  const notes = [
    at(3, "2026-11-23T12:00:00Z"),
    note({}),
    at(-1, "2026-11-23T13:00:00Z"),
    at(3, "2026-11-23T11:00:00Z"),
  ];
  expect(byMoment(notes).map(({ anchor, at: written }) => [anchor.at_secs, written.slice(11, 13)])).toEqual([
    [-1, "13"],
    [3, "11"],
    [3, "12"],
  ]);
});
