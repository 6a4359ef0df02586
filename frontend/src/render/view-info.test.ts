import { expect, test } from "vitest";
import { createModel, highlightOf } from "@/scene";
import { sampleBcube } from "@/scene/testing/sample-plan";
import { viewInfo } from "./view-info";

const { scene, cables, topology } = sampleBcube(4, 4);
const model = createModel(scene, cables, topology);
const list = { drawn: 3, total: 40, what: "trunks" };
const stats = { links: 0, selectedLinks: 0, baseMs: 0, overlayMs: 0 };

test("a picture without single links counts what its list counts", () => {
  const info = viewInfo({ highlight: null, list, stats, view: "floor", zoomPercent: 100 });
  expect(info).toMatchObject({ drawn: 3, total: 40, what: "trunks" });
});

test("links that are drawn one by one are counted by the painter", () => {
  const painted = { ...stats, links: 17 };
  const info = (view: "floor" | "logical") =>
    viewInfo({ highlight: null, list, stats: painted, view, zoomPercent: 150 });
  expect(info("floor")).toMatchObject({ drawn: 17, what: "cables, one by one", zoomPercent: 150 });
  expect(info("logical")).toMatchObject({ drawn: 17, what: "links, one by one" });
});

test("with a selection the count is of its cables", () => {
  const highlight = highlightOf(model, { kind: "rack", ids: [0] })!;
  const info = viewInfo({ highlight, list, stats, view: "floor", zoomPercent: 100 });
  expect(info).toMatchObject({
    drawn: highlight.cables.length,
    total: model.cables.count,
    what: `cables of ${highlight.label}`,
  });
});
