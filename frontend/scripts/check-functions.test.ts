import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
// @ts-expect-error: a plain script, run by node itself
import { complaints, longFunctions } from "./check-functions.mjs";

function longIn(text: string): { name: string; lines: number }[] {
  const root = mkdtempSync(join(tmpdir(), "functions-"));
  writeFileSync(join(root, "page.tsx"), text);
  const functions = longFunctions(root, 5);
  rmSync(root, { recursive: true });
  return functions;
}

test("lines of JSX count, as does the signature", () => {
  const text = "export function Page() {\n  return (\n    <p>\n      a\n      b\n    </p>\n  );\n}\n";
  expect(longIn(text)).toEqual([{ name: "page.tsx Page", lines: 8 }]);
  expect(longIn("export function Page() {\n  return <p>a</p>;\n}\n")).toEqual([]);
});

test("an arrow function goes by the name of its constant", () => {
  expect(longIn("export const sum = () => {\n  a();\n  b();\n  c();\n  d();\n};\n")).toEqual([
    { name: "page.tsx sum", lines: 6 },
  ]);
});

test("a long function needs a reason, and a reason needs a long function", () => {
  const long = [{ name: "page.tsx Page", lines: 120 }];
  expect(complaints(long, {})).toEqual(["page.tsx Page: 120 lines, at most 100; split it by what it does"]);
  expect(complaints(long, { "page.tsx Page": "why" })).toEqual([]);
  expect(complaints([], { "page.tsx Page": "why" })).toHaveLength(1);
});
