import { expect, test } from "vitest";
import type { Draft } from "./draft";
import { imagesOf, lineOf, namesOf, variableLines, variablesOf, withImages, wordsOf } from "./user-images";

const draft = { plan: {}, workload: {}, engine: "emulation", emulation: {} } as Draft;

test.each([
  ["", undefined],
  ["   ", undefined],
  ["serve  --port 80 ", ["serve", "--port", "80"]],
  ["sh -c 'echo a  b; exec c'", ["sh", "-c", "echo a  b; exec c"]],
  [`a "b 'c'" d\\ e '' "\\"q"`, ["a", "b 'c'", "d e", "", '"q']],
  ["sh -c 'not closed", ["sh", "-c", "not closed"]],
])("the line %j has the words %j", (line, words) => {
  expect(wordsOf(line)).toEqual(words);
});

test.each([[["serve", "--port=80"]], [["sh", "-c", "echo 'a' \"b\" $C\\n"]], [["", " "]]])(
  "words %j come back from their line",
  (words) => {
    expect(wordsOf(lineOf(words))).toEqual(words);
  },
);

test("names are between commas, and keep their own", () => {
  expect(namesOf(" 00, 01,")).toEqual(["00", "01"]);
  expect(namesOf("<0,1>,[2,3] , 4")).toEqual(["<0,1>", "[2,3]", "4"]);
  expect(namesOf(" , ")).toBeUndefined();
});

test("variables are lines, and values keep what is in them", () => {
  expect(variablesOf("A=1\n\nB=x=y z \nC")).toEqual({ A: "1", B: "x=y z ", C: "" });
  expect(variablesOf(" \n")).toBeUndefined();
  expect(variableLines({ A: "1", B: "" })).toBe("A=1\nB=");
  expect(variableLines(undefined)).toBe("");
});

test("a draft without images is what it was", () => {
  expect(withImages(draft, [])).toEqual(draft);
  expect(imagesOf(withImages(draft, [{ image: "web" }]))).toEqual([{ image: "web" }]);
  expect(imagesOf({ ...draft, emulation: { images: ["web"] } } as Draft)).toEqual([]);
});
