import { expect, test } from "vitest";
import { type Command, chordOf, commandsFor, matchScore } from "./commands";

const press = (key: string, held: Partial<KeyboardEvent> = {}) =>
  chordOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held } as KeyboardEvent);

test("chords are named the same whatever is held for printing", () => {
  expect(press("z", { ctrlKey: true })).toBe("mod+z");
  expect(press("Z", { ctrlKey: true, shiftKey: true })).toBe("mod+shift+z");
  expect(press("?", { shiftKey: true })).toBe("?");
  expect(press("Escape")).toBe("Escape");
});

test("every word must match, and a word's beginning matches better", () => {
  expect(matchScore("Export XLSX workbook", "xl exp")).not.toBeNull();
  expect(matchScore("Export XLSX workbook", "pdf")).toBeNull();
  expect(matchScore("Matrix view", "mat")!).toBeGreaterThan(matchScore("Export format", "mat")!);
  expect(matchScore("Anything", "")).toBe(0);
});

test("a search offers things by name, then the commands that match best; none of another place", () => {
  const command = (id: string, title: string, local = false): Command => ({
    id,
    title,
    group: "Plan",
    local,
    run: () => {},
  });
  const sources = [
    {
      commands: [
        command("palette", "Search"),
        command("format", "Export format"),
        command("row", "Row", true),
      ],
    },
    {
      commands: [command("matrix", "Matrix view")],
      search: (query: string) => [command("r7", `Rack ${query}`)],
    },
  ];
  const ids = (query: string) => commandsFor(sources, query).map(({ id }) => id);
  expect(ids("")).toEqual(["format", "matrix"]);
  expect(ids("mat")).toEqual(["r7", "matrix", "format"]);
  expect(ids("no such thing")).toEqual(["r7"]);
});
