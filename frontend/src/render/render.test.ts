import { describe, expect, it } from "vitest";
import { buildOverlay, buildView, createModel, highlightOf, type ViewKind } from "@/scene";
import { sampleBcube } from "@/scene/testing/sample-plan";
import { contrast, RAMP_STEPS, THEMES } from "@/units";
import { paletteOf } from "./resolve";
import { escapeXml, toSvg } from "./svg-painter";
import { estimateWidth, fitText } from "./text";
import { compose, fitTransform, toWorld, visibleBox } from "./transform";

const { scene, cables, topology } = sampleBcube(8, 4);
const model = createModel(scene, cables, topology);
const size = { width: 840, height: 520 };

describe("transform", () => {
  it("fits all of the bounds and is invertible", () => {
    const bounds = { x: -3, y: 7, width: 40, height: 12 };
    const t = fitTransform(bounds, size);
    const seen = visibleBox(t, size);
    expect(seen.x).toBeLessThanOrEqual(bounds.x);
    expect(seen.x + seen.width).toBeGreaterThanOrEqual(bounds.x + bounds.width);
    expect(seen.y).toBeLessThanOrEqual(bounds.y);
    const moved = compose(t, { k: 3, x: -50, y: 20 });
    const [x, y] = toWorld(moved, 10 * moved.scale + moved.x, 11 * moved.scale + moved.y);
    expect(x).toBeCloseTo(10, 9);
    expect(y).toBeCloseTo(11, 9);
  });
});

describe("labels", () => {
  it("labels take the longest form that fits", () => {
    const measure = (text: string) => text.length * 10;
    const shorten = (space: number, overflow: "hide" | "ellipsis" = "hide") =>
      fitText("eight kW\t8.6\t8", space, 11, 400, overflow, measure);
    expect(shorten(200)).toBe("eight kW");
    expect(shorten(79)).toBe("8.6");
    expect(shorten(10)).toBe("8");
    expect(shorten(9)).toBeNull();
    expect(fitText("R00-long", 50, 11, 400, "ellipsis", measure)).toBe("R00-\u2026");
    expect(fitText("", 50, 11, 400, "hide", measure)).toBeNull();
  });

  it("estimate wider for more text", () => {
    expect(estimateWidth("R111", 12, 400)).toBeGreaterThan(estimateWidth("R11", 12, 400));
    expect(estimateWidth("R11", 12, 600)).toBeGreaterThan(estimateWidth("R11", 12, 400));
  });
});

describe("palette", () => {
  it("keeps text readable on every step and every level in both themes", () => {
    for (const theme of ["light", "dark"] as const) {
      const palette = paletteOf(theme);
      for (let step = 0; step < RAMP_STEPS; step++)
        expect(
          contrast(palette.colour(`onramp:${step}`), palette.colour(`ramp:${step}`)),
        ).toBeGreaterThanOrEqual(4.5);
      for (let level = 0; level < 6; level++)
        expect(
          contrast(palette.colour(`onlevel:${level}`), palette.colour(`level:${level}`)),
        ).toBeGreaterThanOrEqual(4.5);
      expect(contrast(THEMES[theme].ink, palette.colour("server"))).toBeGreaterThanOrEqual(4.5);
      expect(contrast(THEMES[theme].ink, palette.colour("rack"))).toBeGreaterThanOrEqual(4.5);
    }
  });

  it("orders the ramp away from the background", () => {
    for (const theme of ["light", "dark"] as const) {
      const palette = paletteOf(theme);
      const ground = THEMES[theme].background;
      const low = contrast(palette.colour("ramp:0"), ground);
      const high = contrast(palette.colour(`ramp:${RAMP_STEPS - 1}`), ground);
      expect(high).toBeGreaterThan(low);
    }
  });
});

describe("svg", () => {
  it("draws every view as well-formed, finite text, the same every time", () => {
    for (const view of ["floor", "elevations", "logical", "matrix", "3d"] as ViewKind[])
      for (const theme of ["light", "dark"] as const) {
        const options = { colourBy: "cables", linksMode: "trunk", aspect: 1.6 } as const;
        const list = buildView(model, view, options);
        const highlight = highlightOf(model, { kind: "rack", ids: [11] })!;
        const overlay = buildOverlay(model, view, highlight, options);
        const svg = toSvg(list, { theme, size, overlay, title: "T <1>", provenance: "plan abc & more" });
        expect(svg).toBe(
          toSvg(list, { theme, size, overlay, title: "T <1>", provenance: "plan abc & more" }),
        );
        expect(svg).not.toMatch(/NaN|Infinity|undefined/);
        expect(svg).toContain("<title>T &lt;1&gt;</title>");
        expect(svg).toContain("plan abc &amp; more");
        expect((svg.match(/<g[ >]/g) ?? []).length).toBe((svg.match(/<\/g>/g) ?? []).length);
        expect(svg.length).toBeLessThan(1_200_000);
      }
  });

  it("names every rack on the floor", () => {
    const list = buildView(model, "floor", { colourBy: "power", linksMode: "trunk" });
    const svg = toSvg(list, { theme: "light", size: { width: 1400, height: 420 } });
    for (const name of scene.racks.name) expect(svg).toContain(`>${name}</text>`);
    expect(svg).toContain("8.1\u00a0kW".replace("8.1", "8.10"));
  });

  it("escapes special characters of names", () => {
    expect(escapeXml('<3,001> & "x"')).toBe("&lt;3,001&gt; &amp; &quot;x&quot;");
  });
});
