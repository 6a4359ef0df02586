import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
// @ts-expect-error: a plain script, run by node itself
import { wrongArrows } from "./check-arrows.mjs";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "arrows-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function source(path: string, text: string) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

test("right arrows pass", () => {
  source(
    "app/main.tsx",
    'import { Page } from "@/features/plan/page";\nconst x = import("../features/compare/page");',
  );
  source(
    "features/plan/page.tsx",
    'import type { X } from "@/api/client";\nimport { Y } from "@/shared/plans/y";\nimport "./page.css";',
  );
  source(
    "shared/runs/frame.tsx",
    'import { api } from "@/api/client";\nimport { Shell } from "@/shared/shell/shell";\nimport "./x";',
  );
  source("scene/floor.ts", 'export { metres } from "../units/format";');
  expect(wrongArrows(root)).toEqual([]);
});

test.each([
  ["ui/button.tsx", 'import { api } from "@/api/client";', "ui must not import api"],
  ["scene/floor.ts", 'import { draw } from "../render/canvas";', "scene must not import render"],
  ["units/format.ts", 'export * from "../scene/floor";', "units must not import scene"],
  [
    "features/plan/page.tsx",
    'const C = import("@/features/compare/page");',
    "feature plan imports feature compare",
  ],
  ["shared/plans/spec.ts", 'import "../shell/shell";', "shared/plans must not import shared/shell"],
  ["shared/other/x.ts", 'import "../plans/spec";', "shared/other must not import shared/plans"],
  ["shared/plans/spec.ts", 'import "@/features/plan/page";', "shared must not import features"],
  ["ui/button.tsx", 'import "@/shared/plans/spec";', "ui must not import shared"],
  ["features/plan/page.tsx", 'import "@/app/routes";', "features must not import app"],
])("%s with %s fails", (path, text, reason) => {
  source(path, text);
  expect(wrongArrows(root).map((w: { reason: string }) => w.reason)).toEqual([reason]);
});
