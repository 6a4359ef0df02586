import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { contrast, THEMES } from "@/units";

const css = readFileSync(new URL("./tokens.css", import.meta.url), "utf8");

/** The custom properties of one theme's block. */
function block(theme: string): Map<string, string> {
  const body = css.match(new RegExp(`\\[data-theme="${theme}"\\] \\{([^}]*)\\}`))![1]!;
  return new Map([...body.matchAll(/--([\w-]+):\s*([^;]+);/g)].map((m) => [m[1]!, m[2]!]));
}

test.each(["light", "dark"] as const)(
  "%s: the style sheet and the canvas paint the same levels on the same ground",
  (theme) => {
    const variables = block(theme);
    THEMES[theme].levels.forEach((colour, level) => {
      expect(variables.get(`level-${level}`)?.toLowerCase()).toBe(colour.toLowerCase());
    });
    expect(variables.get("bg")?.toLowerCase()).toBe(THEMES[theme].background.toLowerCase());
    expect(variables.get("failed")?.toLowerCase()).toBe(THEMES[theme].failed.toLowerCase());
  },
);

test.each(["light", "dark"] as const)("%s: every text colour reads on every surface", (theme) => {
  const variables = block(theme);
  for (const text of ["text", "text-muted", "text-faint", "accent-text", "good", "warn", "bad"])
    for (const ground of ["bg", "panel", "raised", "sunken", "hover"])
      expect(
        contrast(variables.get(text)!, variables.get(ground)!),
        `${text} on ${ground}`,
      ).toBeGreaterThanOrEqual(4.5);
  expect(contrast(variables.get("on-accent")!, variables.get("accent")!)).toBeGreaterThanOrEqual(4.5);
});
