import { expect, test } from "vitest";
import type { Point } from "@/shared/runs/run-points";
import { failedTiles } from "./failed-tiles";

const shown = (kind: Point["kind"], ratio: number | null, links: number) => {
  const failures = { servers: 0, switches: 0, links, degraded_links: 0 };
  return failedTiles({ kind, ratio, result: { failures } } as Point).map(({ value, note = "" }) =>
    `${value}${note}`.replace(/\s/gu, " "),
  );
};

test("a share of a few devices that is none is named", () => {
  expect(shown("link", 0.05, 0)).toEqual(["none 5 % of these links is none"]);
  expect(shown("link", 0.5, 2)).toEqual(["2 links"]);
  expect(shown("link", 0, 0)).toEqual([]);
  expect(shown(null, null, 0)).toEqual([]);
});
