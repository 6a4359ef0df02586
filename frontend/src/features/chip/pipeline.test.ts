import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ChipStep, ChipTrace } from "@/api/types";
import { lineRange } from "@/shared/chip/program/lines";
import { rowsOf } from "@/shared/chip/trace/hex";
import {
  arrowPath,
  arrowsOf,
  BOX_HEIGHT,
  BOX_WIDTH,
  BOXES,
  HEIGHT,
  lightsOf,
  WIDTH,
} from "@/shared/chip/trace/pipeline";
import { EXAMPLES } from "./examples";

type Given = Partial<ChipStep> & Pick<ChipStep, "stage">;

const trace = (steps: readonly Given[]): ChipTrace => ({
  in_port: 0,
  packet: "",
  steps: steps.map((step) => ({ text: "", key: [], changed: [], ...step })),
  sent: [],
  outcome: "sent",
  summary: "",
  hits: [],
});
const entry = { table: "TCAM", i: 3, value: "", mask: "", action: "" };

describe("the pipeline", () => {
  it("lights what the packet passed, and a table's arrow only if it matched", () => {
    const lights = lightsOf(
      trace([
        { stage: "classifier" },
        { stage: "ip-parser" },
        { stage: "lpm" },
        { stage: "tcam", entry },
        { stage: "priority" },
      ]),
    );
    const lit = arrowsOf(lights).filter((arrow) => arrow.lit);
    expect(lit.map(({ from, to }) => `${from.stage} ${to.stage}`)).toEqual([
      "classifier ip-parser",
      "ip-parser lpm",
      "tcam priority",
    ]);
    expect(lights.get("tcam")).toBe("matched");
    expect(arrowsOf(lightsOf(null)).some((arrow) => arrow.lit)).toBe(false);
  });

  it("has boxes that stay inside and apart", () => {
    for (const [index, box] of BOXES.entries()) {
      expect(box.x + BOX_WIDTH).toBeLessThanOrEqual(WIDTH);
      expect(box.y + BOX_HEIGHT).toBeLessThanOrEqual(HEIGHT);
      for (const other of BOXES.slice(index + 1)) {
        const apart = Math.abs(box.x - other.x) >= BOX_WIDTH || Math.abs(box.y - other.y) >= BOX_HEIGHT;
        expect(apart, `${box.stage} ${other.stage}`).toBe(true);
      }
    }
    for (const arrow of arrowsOf(new Map())) expect(arrowPath(arrow)).not.toContain("NaN");
  });
});

describe("bytes", () => {
  it("come in rows of 16, with changed rows alone where any changed", () => {
    const hex = Array.from({ length: 40 }, (_, at) => at.toString(16).padStart(2, "0")).join("");
    expect(rowsOf(hex).map((row) => row.length)).toEqual([16, 16, 8]);
    const [only, ...more] = rowsOf(hex, [22, 24]);
    expect(more).toEqual([]);
    expect(only!.filter((byte) => byte.changed).map((byte) => byte.hex)).toEqual(["16", "18"]);
  });

  it("finds a line's text", () => {
    expect(lineRange("ab\ncd\n", 2)).toEqual([3, 5]);
    expect(lineRange("ab", 1)).toEqual([0, 2]);
    expect(lineRange("ab", 7)).toEqual([2, 2]);
  });
});

it("begins with the engine's own examples", () => {
  for (const { id, program } of EXAMPLES) {
    const file = new URL(`../../../../emulator/crates/chip/programs/${id}.chip`, import.meta.url);
    expect(program).toBe(readFileSync(file, "utf8"));
  }
});
