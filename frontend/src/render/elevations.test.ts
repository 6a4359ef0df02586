import { expect, test } from "vitest";
import { buildOverlay, buildView, cableRacks, createModel, highlightOf, type Selection } from "@/scene";
import { sampleBcube } from "@/scene/testing/sample-plan";
import { elevationRacks } from "./elevations";

const { scene, cables, topology } = sampleBcube(8, 4);
const model = createModel(scene, cables, topology);
const between = Array.from({ length: model.cables.count }, (_, cable) => cable).filter((cable) => {
  const [a, b] = cableRacks(model, cable);
  return a !== b;
});

test("a cable shows the elevations of the racks of both ends, side by side", () => {
  for (const cable of [between[0]!, between.at(-1)!, between[Math.floor(between.length / 2)]!]) {
    const selection: Selection = { kind: "cable", ids: [cable] };
    const racks = elevationRacks(model, selection);
    expect(racks).toEqual(cableRacks(model, cable));
    const options = { colourBy: "power", linksMode: "sel", aspect: 2.4, racks } as const;
    const list = buildView(model, "elevations", options);
    const overlay = buildOverlay(model, "elevations", highlightOf(model, selection)!, options);
    const [x0, y0, x1, y1] = overlay.flatMap((batch) =>
      batch.kind === "paths" && batch.strokes[0]!.colour === "selection" ? [...batch.points] : [],
    );
    const [a, b] = [model.cables.aDevice[cable]!, model.cables.bDevice[cable]!].map((device) => {
      const [x0, y0, x1, , , y1] = list.hits.find("device", device)!.outline!;
      return { left: x0!, right: x1!, middle: (y0! + y1!) / 2 };
    });
    // The line starts at the device of one end and ends at the device of the other, in either
    // order.
    const [left, right] = a!.left < b!.left ? [a!, b!] : [b!, a!];
    expect([x0, y0, x1, y1].map((v) => Math.round(v! * 100))).toEqual(
      [left.right, left.middle, right.left, right.middle].map((v) => Math.round(v * 100)),
    );
  }
});

test("a cable within a rack has one elevation; without a cable the group around the selection is shown", () => {
  const within = Array.from({ length: model.cables.count }, (_, cable) => cable).find((cable) => {
    const [a, b] = cableRacks(model, cable);
    return a === b;
  })!;
  expect(elevationRacks(model, { kind: "cable", ids: [within] })).toEqual([cableRacks(model, within)[0]]);
  const rack = elevationRacks(model, { kind: "rack", ids: [0] });
  expect(rack).toContain(0);
  expect(rack.length).toBeGreaterThan(2);
});
