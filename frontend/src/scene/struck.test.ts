import { expect, test } from "vitest";
import {
  type BadgeBatch,
  cableRacks,
  createModel,
  describeStruck,
  floorMarks,
  type PathBatch,
  type Struck,
} from "./index";
import { sampleBcube } from "./testing/sample-plan";

const { scene, cables, topology } = sampleBcube(4, 4);
const model = createModel(scene, cables, topology);
const all = Array.from({ length: model.cables.count }, (_, cable) => cable);
const inside = (cable: number) => {
  const [a, b] = cableRacks(model, cable);
  return a === b;
};
const LEAVING = all.filter((cable) => !inside(cable));
const INNER = all.filter(inside);
const switchDevice = model.devices.names.indexOf("<3,000>");

const struck = (cut: number[] = [], degraded: number[] = [], dead: number[] = []): Struck => ({
  cut: new Map(cut.map((cable) => [cable, "cable pulled"])),
  degraded: new Map(degraded.map((cable) => [cable, "link slower"])),
  dead: new Map(dead.map((device) => [device, "switch off"])),
});
/** Marks, and drawn lines by their stroke. */
function drawn(of: Struck) {
  const { batches, hits } = floorMarks(model, of);
  const badges = batches.filter((batch): batch is BadgeBatch => batch.kind === "badges");
  const lines = batches.filter((batch): batch is PathBatch => batch.kind === "paths").at(-1)!;
  return {
    hits,
    badges,
    texts: badges.flatMap(({ texts }) => texts),
    colours: Array.from(lines.styles!, (style) => lines.strokes[style]!.colour),
  };
}
const spread = (from: number[], count: number) =>
  Array.from({ length: count }, (_, i) => from[Math.floor((i * from.length) / count)]!);

test.each([1, 7, 40])(
  "%i cables cut between racks are a line and a mark each, that name their cable",
  (count) => {
    const cut = spread(LEAVING, count);
    const { hits, badges, texts, colours } = drawn(struck(cut));
    expect(colours).toEqual(cut.map(() => "failed"));
    expect(texts).toEqual(cut.map(() => "×"));
    const ring = badges.find((badge) => badge.texts.length > 0)!;
    const matches = cut.map((_, i) => hits.at(ring.anchors[i * 2]!, ring.anchors[i * 2 + 1]!, 1e-4, 60));
    expect(matches.filter((hit) => hit?.item.kind !== "cable")).toEqual([]);
    expect(hits.idsOf("cable").sort((a, b) => a - b)).toEqual([...cut].sort((a, b) => a - b));
    if (count === 1) expect(matches[0]!.item.id).toBe(cut[0]);
  },
);

test("a crowd of cut cables keeps a line each and shares a number a pair of racks, which adds up to all of them", () => {
  const { texts, colours, badges, hits } = drawn(struck(LEAVING));
  expect(colours).toHaveLength(LEAVING.length);
  const pairs = new Set(
    LEAVING.map((cable) =>
      cableRacks(model, cable)
        .sort((a, b) => a - b)
        .join(),
    ),
  );
  expect(texts).toHaveLength(pairs.size);
  expect(texts.reduce((sum, text) => sum + (text === "×" ? 1 : Number(text)), 0)).toBe(LEAVING.length);
  const ring = badges.find((badge) => badge.texts.length > 0)!;
  expect(hits.at(ring.anchors[0]!, ring.anchors[1]!, 1e-4, 60)?.item.kind).toMatch(/bundle|cable/);
});

test("what breaks inside a rack is marked at the rack: one by its name, several by their number", () => {
  const cable = INNER[0]!;
  const [rack] = cableRacks(model, cable);
  const drawing = drawn(struck([cable]));
  expect([drawing.texts, drawing.colours]).toEqual([["×"], []]);
  expect(drawing.hits.idsOf("cable")).toEqual([cable]);
  const others = INNER.filter((other) => cableRacks(model, other)[0] === rack).slice(0, 3);
  const several = drawn(struck(others));
  expect(several.texts).toEqual(["3"]);
  expect(several.hits.idsOf("rack")).toEqual([rack]);
});

test("a dead switch is a square, a degraded cable its own sign, and a cable that is also cut only cut", () => {
  const [slow, both] = [LEAVING[0]!, LEAVING[1]!];
  const { badges, colours, hits } = drawn(struck([both], [slow, both], [switchDevice]));
  expect(badges.map(({ shape, colour, texts }) => [shape, colour, texts])).toEqual([
    ["ring", "warning", ["!"]],
    ["ring", "failed", ["×"]],
    ["square", "failed", ["×"]],
  ]);
  expect(colours).toEqual(["warning", "failed"]);
  expect(hits.idsOf("device")).toEqual([switchDevice]);
  const rack = model.devices.rack[switchDevice]!;
  const { anchors } = badges[2]!;
  const front = (anchors[1]! - model.racks.y[rack]!) * -model.racks.facesNorth[rack]!;
  expect(front).toBeGreaterThan(model.racks.depth[rack]! / 2);
  expect(front).toBeLessThan(model.racks.depth[rack]!);
});

test("an item says what broke it, and a rack, a bundle or a tray what of it is broken", () => {
  const cable = LEAVING[0]!;
  const of = struck([cable], [LEAVING[1]!], [switchDevice]);
  expect(describeStruck(model, of, { kind: "cable", id: cable })).toEqual(["Failed: cable pulled"]);
  expect(describeStruck(model, of, { kind: "cable", id: LEAVING[1]! })).toEqual(["Degraded: link slower"]);
  expect(describeStruck(model, of, { kind: "cable", id: LEAVING.at(-1)! })).toEqual([]);
  expect(describeStruck(model, struck([], [], [switchDevice]), { kind: "device", id: switchDevice })).toEqual(
    ["Failed: switch off"],
  );
  const name = `${model.devices.names[model.cables.aDevice[cable]!]}/${model.devices.names[model.cables.bDevice[cable]!]}`;
  const bundle = { kind: "bundle", id: model.cables.bundle[cable]! } as const;
  expect(describeStruck(model, struck([cable]), bundle)).toEqual([`Failed: ${name} (cable pulled)`]);
  const rack = { kind: "rack", id: cableRacks(model, cable)[0] } as const;
  expect(describeStruck(model, struck([cable]), rack)).toEqual([`Failed: ${name} (cable pulled)`]);
  const trays = Array.from({ length: model.trayCount }, (_, id) =>
    describeStruck(model, struck([cable]), { kind: "tray", id }),
  );
  expect(trays.flat()).toContain(`Failed: ${name} (cable pulled)`);
  const rackOf = (rackId: number) => describeStruck(model, struck(LEAVING), { kind: "rack", id: rackId });
  expect(rackOf(0)[0]).toMatch(/ and \d+ more$/);
});
