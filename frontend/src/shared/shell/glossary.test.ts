import { expect, test } from "vitest";
import { GLOSSARY } from "./glossary";

test("terms are in order, each once, and explained in one or two sentences", () => {
  const terms = GLOSSARY.map(({ term }) => term.toLowerCase());
  expect(terms).toEqual([...new Set(terms)].sort());
  for (const { term, meaning } of GLOSSARY) {
    expect(meaning, term).toMatch(/^[A-Z].*\.$/);
    expect(meaning.length, term).toBeLessThan(120);
  }
});

/** Words that the page no longer uses, because there is one word for each thing. */
const REPLACED = ["mend", "so manieth", "for good", "of before", "asked", "strikes"];

test("no meaning uses a word that was replaced", () => {
  for (const { meaning } of GLOSSARY)
    for (const word of REPLACED) expect(meaning).not.toMatch(new RegExp(`\\b${word}\\b`, "i"));
});
