import { expect, test } from "vitest";
import { isPlanPath } from "./last-plan";

test("the plan page's paths are told from those of other pages, also below a plan", () => {
  for (const path of ["/", "/plans/new", "/plans/0a1b2c3d4e5f6g"]) expect(isPlanPath(path), path).toBe(true);
  for (const path of [
    "/compare",
    "/plans",
    "/plans/",
    "/plans/0a1b2c3d4e5f6g/crew",
    "/plans/0a1b2c3d4e5f6g/as-built",
    "/runs/x",
  ])
    expect(isPlanPath(path), path).toBe(false);
});
