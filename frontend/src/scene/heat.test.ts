import { expect, test } from "vitest";
import {
  buildOverlay,
  buildView,
  coldToHot,
  createModel,
  describeHeat,
  HEAT_CLASSES,
  heatScale,
  highlightOf,
  hottestOf,
  type LinkHeat,
  type PathBatch,
} from "./index";
import { sampleBcube } from "./testing/sample-plan";

const { scene, cables, topology } = sampleBcube(4, 4);
const model = createModel(scene, cables, topology);
const heatOf = (value: (cable: number) => number): LinkHeat => ({
  title: "Flows",
  values: Float64Array.from({ length: model.cables.count }, (_, cable) => value(cable)),
  format: String,
});
const OPTIONS = { colourBy: "power", linksMode: "trunk", aspect: 1.5 } as const;

test("classes rise with the value, and a link that carries nothing has its own", () => {
  const heat = heatOf((cable) => cable);
  const { domain, idle, classOf } = heatScale(heat);
  expect(domain).toEqual([1, model.cables.count - 1]);
  expect(idle).toBe(1);
  expect(classOf(0)).toBe(0);
  expect(classOf(1)).toBe(1);
  expect(classOf(model.cables.count - 1)).toBe(HEAT_CLASSES);
  for (let cable = 2; cable < model.cables.count; cable++)
    expect(classOf(cable)).toBeGreaterThanOrEqual(classOf(cable - 1));
});

test("equal links are neither cold nor hot, dead ones have no scale", () => {
  expect(heatScale(heatOf(() => 7)).classOf(3)).toBe(HEAT_CLASSES / 2);
  expect(heatScale(heatOf(() => 0))).toMatchObject({ domain: null, idle: model.cables.count });
});

test("both views paint the fullest links last, each link in the stroke of its class", () => {
  const heat = heatOf((cable) => (cable * 7919) % 101);
  const ids = Uint32Array.from({ length: model.cables.count }, (_, i) => i);
  const order = coldToHot(heat, ids, 100);
  expect(order).toHaveLength(100);
  for (let i = 1; i < order.length; i++)
    expect(heat.values[order[i]!]!).toBeGreaterThanOrEqual(heat.values[order[i - 1]!]!);
  expect(heat.values[order.at(-1)!]).toBe(Math.max(...Array.from(heat.values)));
  for (const view of ["floor", "logical"] as const) {
    const list = buildView(model, view, { ...OPTIONS, heat });
    const lines = list.batches.find(
      (batch): batch is PathBatch => batch.kind === "paths" && batch.counted === true,
    )!;
    const styles = Array.from(lines.styles!);
    expect(styles).toEqual([...styles].sort((a, b) => a - b));
    expect(styles).toHaveLength(list.drawn);
    expect(lines.strokes).toHaveLength(HEAT_CLASSES + 1);
    const overlay = buildOverlay(model, view, highlightOf(model, { kind: "cable", ids: [order.at(-1)!] })!, {
      ...OPTIONS,
      heat,
    });
    const marked = overlay.find(
      (batch): batch is PathBatch => batch.kind === "paths" && batch.counted === true,
    );
    expect(marked?.strokes.length ?? HEAT_CLASSES + 1).toBe(HEAT_CLASSES + 1);
  }
});

test("an item is described by its fullest link", () => {
  const device = model.cables.aDevice[5]!;
  const heat = heatOf((cable) => (cable === 5 ? 90 : 10));
  expect(hottestOf(model, heat, { kind: "device", id: device })).toBe(5);
  expect(hottestOf(model, heat, { kind: "rack", id: model.devices.rack[device]! })).toBe(5);
  expect(describeHeat(model, heat, { kind: "cable", id: 5 })).toBe("Flows: 90 (100\u00a0% of maximum)");
  expect(
    describeHeat(
      model,
      heatOf(() => 0),
      { kind: "cable", id: 5 },
    ),
  ).toBe("");
});

test("a cable without a value is not part of it: neither drawn nor counted as idle, nor its rack's fullest", () => {
  const heat = heatOf((cable) => (cable < 3 ? cable : Number.NaN));
  expect(heatScale(heat)).toMatchObject({ domain: [1, 2], idle: 1 });
  const ids = Uint32Array.from({ length: model.cables.count }, (_, i) => i);
  expect([...coldToHot(heat, ids, 100)]).toEqual([0, 1, 2]);
  const last = model.devices.count - 1;
  expect(hottestOf(model, heat, { kind: "device", id: last })).toBe(-1);
  expect(describeHeat(model, heat, { kind: "cable", id: 9 })).toBe("");
});
