import { describe, expect, it } from "vitest";
import {
  type Batch,
  buildOverlay,
  buildView,
  bundlesOfPair,
  cableRacks,
  colourScale,
  createModel,
  csrSlice,
  type DisplayList,
  describe as describeItem,
  highlightOf,
  idsOfItem,
  itemName,
  rackMatrix,
  type SceneDocument,
  sameSelection,
  toggleSelection,
  type ViewKind,
  type ViewOptions,
} from "./index";
import { sampleBcube } from "./testing/sample-plan";
import { bundleRoute, traysOfBundle, trayTap } from "./tray-routes";

const VIEWS: readonly ViewKind[] = ["floor", "elevations", "logical", "matrix", "3d"];
const OPTIONS: ViewOptions = { colourBy: "power", linksMode: "trunk", aspect: 1.5 };

function modelOf(n: number, groups: number) {
  const { scene, cables, topology } = sampleBcube(n, groups);
  return createModel(scene, cables, topology);
}

/**
 * The scene with one more bundle: between the racks of a bundle that crosses, over the other
 * crossing.
 */
function withTwin(scene: SceneDocument): SceneDocument {
  const { bundles, trays } = scene;
  const crossings = trays.kind.flatMap((kind, tray) => (kind === "crossing" ? [tray] : []));
  const of = bundles.tray_runs.findIndex((runs) => runs.some(([first]) => crossings.includes(first!)));
  const more = <T>(column: readonly T[], value: T) => [...column, value];
  const used = bundles.tray_runs[of]!.find(([first]) => crossings.includes(first!))!;
  const other = crossings.find((tray) => tray !== used[0])!;
  return {
    ...scene,
    bundles: {
      rack_a: more(bundles.rack_a, bundles.rack_a[of]!),
      rack_b: more(bundles.rack_b, bundles.rack_b[of]!),
      cables: more(bundles.cables, 1),
      by_level: more(bundles.by_level, [0, 0, 0, 1]),
      diameter_mm: more(bundles.diameter_mm, 5),
      length_metres: more(bundles.length_metres, 4),
      pull_order: more(bundles.pull_order, bundles.rack_a.length),
      tray_runs: more(bundles.tray_runs, [[other, other + used[1]! - used[0]!]]),
    },
  };
}

const container = modelOf(8, 4);
const small = modelOf(4, 4);

describe("model", () => {
  it("lists every cable once at each end and every device in its rack", () => {
    for (const model of [small, container]) {
      const seen = new Uint8Array(model.cables.count);
      for (let device = 0; device < model.devices.count; device++)
        for (const cable of csrSlice(model.deviceCables, device)) {
          if (model.cables.aDevice[cable] !== device && model.cables.bDevice[cable] !== device)
            expect.fail(`cable ${cable} does not end at device ${device}`);
          seen[cable]!++;
        }
      expect(seen.every((n) => n === 2)).toBe(true);
      for (let rack = 0; rack < model.racks.count; rack++)
        for (const device of csrSlice(model.rackDevices, rack)) expect(model.devices.rack[device]).toBe(rack);
    }
  });

  it("keeps left and right when it turns y over", () => {
    const { scene } = sampleBcube(4, 4);
    const model = createModel(scene);
    expect([...model.racks.x]).toEqual(scene.racks.x_metres);
    scene.racks.y_metres.forEach((y, rack) => {
      expect(model.racks.y[rack]).toBeCloseTo(scene.enclosure.width_metres - y, 9);
    });
    expect(model.cables.count).toBe(0);
  });
});

describe("tray routes", () => {
  it("run from the tap of one rack to that of the other, along the trays of the bundle", () => {
    for (let bundle = 0; bundle < container.bundleCount; bundle++) {
      const points = bundleRoute(container, bundle)!;
      const [a, b] = [container.bundleA[bundle]!, container.bundleB[bundle]!];
      expect(points.slice(0, 2)).toEqual(trayTap(container, a));
      expect(points.slice(-2)).toEqual(trayTap(container, b));
      const { x0_metres, x1_metres, y0_metres, y1_metres } = container.scene.trays;
      const trays = traysOfBundle(container, bundle).reduce(
        (sum, t) => sum + Math.hypot(x1_metres[t]! - x0_metres[t]!, y1_metres[t]! - y0_metres[t]!),
        0,
      );
      expect(lengthOf(points)).toBeCloseTo(trays, 6);
    }
  });

  it("show in the inspector of every tray as many cables as its table row says", () => {
    for (const model of [container, small])
      for (let tray = 0; tray < model.trayCount; tray++) {
        if (model.scene.trays.cables[tray] === 0) continue;
        const highlight = highlightOf(model, { kind: "tray", ids: [tray] })!;
        expect(highlight.cables.length).toBe(model.scene.trays.cables[tray]);
      }
  });

  it("of one pair of racks have names of their own, and a matrix cell selects them all", () => {
    const { scene, cables, topology } = sampleBcube(4, 4);
    // The last cable between the first two racks that share a bundle gets a separate bundle over
    // the other crossing.
    const model = createModel(withTwin(scene), cables, topology);
    const twin = model.bundleCount - 1;
    expect(bundlesOfPair(model, twin)).toHaveLength(2);
    const names = bundlesOfPair(model, twin).map((bundle) => itemName(model, "bundle", bundle));
    expect(new Set(names).size).toBe(2);
    expect(idsOfItem(model, { kind: "bundle", id: twin, other: 0 })).toHaveLength(2);
    expect(idsOfItem(model, { kind: "bundle", id: twin })).toEqual([twin]);
  });

  it("are none without trays", () => {
    const { scene, cables } = sampleBcube(4, 4);
    const empty = {
      name: [],
      x0_metres: [],
      y0_metres: [],
      x1_metres: [],
      y1_metres: [],
      z_metres: [],
      kind: [],
      cables: [],
      area_cm2: [],
      fill: [],
      cables_by_level: [],
    };
    const model = createModel({ ...scene, trays: empty }, cables);
    expect(bundleRoute(model, 0)).toBeNull();
    for (const view of VIEWS) expect(buildView(model, view, OPTIONS).batches.length).toBeGreaterThan(0);
    const highlight = highlightOf(model, { kind: "rack", ids: [2] })!;
    expect(highlight.cables.length).toBeGreaterThan(0);
    finite({ batches: buildOverlay(model, "floor", highlight, OPTIONS) });
  });
});

function lengthOf(points: readonly number[]): number {
  let length = 0;
  for (let i = 2; i < points.length; i += 2)
    length += Math.hypot(points[i]! - points[i - 2]!, points[i + 1]! - points[i - 1]!);
  return length;
}

describe("selection", () => {
  it("lights up the cables of a rack, found another way", () => {
    for (let rack = 0; rack < container.racks.count; rack += 7) {
      const highlight = highlightOf(container, { kind: "rack", ids: [rack] })!;
      const expected: number[] = [];
      for (let cable = 0; cable < container.cables.count; cable++)
        if (cableRacks(container, cable).includes(rack)) expected.push(cable);
      expect([...highlight.cables]).toEqual(expected);
      expect(highlight.racks.toArray()).toEqual(Uint32Array.of(rack));
      expect(highlight.summary).toBe(`${expected.length} of 8,192 cables`);
    }
  });

  it("agrees between a bundle, its cables and the trays it runs over", () => {
    for (let bundle = 0; bundle < container.bundleCount; bundle += 13) {
      const highlight = highlightOf(container, { kind: "bundle", ids: [bundle] })!;
      expect(highlight.cables.length).toBe(container.scene.bundles.cables[bundle]);
      for (const tray of highlight.relatedTrays.toArray())
        expect(highlightOf(container, { kind: "tray", ids: [tray] })!.bundles.has(bundle)).toBe(true);
    }
  });

  it("splits all cables among the levels", () => {
    const counts = [0, 1, 2, 3].map(
      (level) => highlightOf(container, { kind: "level", ids: [level] })!.cables.length,
    );
    expect(counts).toEqual([2048, 2048, 2048, 2048]);
  });

  it("ignores what this plan does not have", () => {
    expect(highlightOf(container, { kind: "rack", ids: [999, -1] })).toBeNull();
    expect(highlightOf(container, null)).toBeNull();
  });

  it("toggles and compares", () => {
    const single = toggleSelection(null, "rack", 3);
    const double = toggleSelection(single, "rack", 5);
    expect(double).toEqual({ kind: "rack", ids: [3, 5] });
    expect(toggleSelection(toggleSelection(double, "rack", 3), "rack", 5)).toBeNull();
    expect(toggleSelection(double, "device", 1)).toEqual({ kind: "device", ids: [1] });
    expect(sameSelection(single, { kind: "rack", ids: [3] })).toBe(true);
    expect(sameSelection(single, double)).toBe(false);
  });
});

/** No coordinate that is not a number, indices within their palettes, and something to see. */
function finite({ batches }: { batches: readonly Batch[] }): void {
  for (const batch of batches)
    switch (batch.kind) {
      case "rects":
        expect(batch.boxes.every(Number.isFinite)).toBe(true);
        expect(Array.from(batch.colours ?? []).every((colour) => colour < batch.palette.length)).toBe(true);
        break;
      case "labels":
        expect(batch.anchors.every(Number.isFinite)).toBe(true);
        expect(batch.anchors.length).toBe(batch.texts.length * 2);
        break;
      case "paths":
        expect(batch.points.every(Number.isFinite)).toBe(true);
        expect(Array.from(batch.styles ?? []).every((style) => style < batch.strokes.length)).toBe(true);
        expect(batch.starts[batch.starts.length - 1]).toBe(batch.points.length / 2);
        break;
      case "polygons":
        expect(batch.points.every(Number.isFinite)).toBe(true);
        break;
    }
}

describe("views", () => {
  it("are sound, the same every time, and lie within their bounds", () => {
    for (const model of [small, container])
      for (const view of VIEWS)
        for (const linksMode of ["trunk", "sel", "all"] as const) {
          const list = buildView(model, view, { ...OPTIONS, linksMode });
          finite(list);
          expect(list.drawn).toBeLessThanOrEqual(list.total);
          const { scene, cablesDocument, topology } = model;
          // A fresh model has no cached views; the document is rotated already, so rotate it back.
          const again = createModel(turnBack(scene), cablesDocument, topology);
          expect(fingerprint(buildView(again, view, { ...OPTIONS, linksMode }))).toBe(fingerprint(list));
          within(list);
        }
  });

  it("draw single cables when asked: every cable that leaves its rack, once", () => {
    const list = buildView(container, "floor", { ...OPTIONS, linksMode: "all" });
    let leaving = 0;
    for (let cable = 0; cable < container.cables.count; cable++) {
      const [a, b] = cableRacks(container, cable);
      if (a !== b) leaving++;
    }
    expect(list.drawn).toBe(leaving);
    expect(list.total).toBe(8192);
    const links = list.batches.filter((b) => b.kind === "paths" && b.counted);
    expect(links.map((b) => (b.kind === "paths" ? b.starts.length - 1 : 0))).toEqual([leaving]);
  });

  it("show every device of a rack once in its elevation, mirrored at the rear", () => {
    const front = buildView(container, "elevations", { ...OPTIONS, racks: [3], face: "front" });
    expect(front.hits.idsOf("device")).toEqual([...csrSlice(container.rackDevices, 3)]);
    const rear = buildView(container, "elevations", { ...OPTIONS, racks: [3], face: "rear" });
    const [a, b] = [front.hits.find("device", 3 * 64)!.outline!, rear.hits.find("device", 3 * 64)!.outline!];
    expect(a[1]).toBe(b[1]);
    expect(a[0]).not.toBe(b[0]);
  });

  it("put no two devices of the logical view on one place", () => {
    for (const model of [small, container]) {
      const list = buildView(model, "logical", OPTIONS);
      const places = new Set<string>();
      for (const id of list.hits.idsOf("device"))
        places.add(list.hits.find("device", id)!.outline!.slice(0, 2).join());
      expect(places.size).toBe(model.devices.count);
    }
  });

  it("draw every BCube link along one axis", () => {
    const list = buildView(container, "logical", OPTIONS);
    const centre = (device: number) => list.hits.find("device", device)!.outline!;
    for (let cable = 0; cable < container.cables.count; cable += 97) {
      const [a, b] = [centre(container.cables.aDevice[cable]!), centre(container.cables.bDevice[cable]!)];
      const even = container.cables.level[cable]! % 2 === 0;
      expect(even ? a[1] : a[0]).toBeCloseTo((even ? b[1] : b[0])!, 4);
    }
  });

  it("are sound under every kind of selection", () => {
    for (const view of VIEWS)
      for (const kind of ["rack", "device", "cable", "tray", "bundle", "level", "group"] as const)
        for (const ids of [[0], [1, 2]]) {
          const highlight = highlightOf(container, { kind, ids })!;
          finite({ batches: buildOverlay(container, view, highlight, OPTIONS) });
        }
  });

  it("answer the question what lies at a rack's middle", () => {
    const list = buildView(container, "floor", { ...OPTIONS, linksMode: "sel" });
    for (let rack = 0; rack < container.racks.count; rack++) {
      const y = container.racks.y[rack]! + container.racks.depth[rack]! * 0.4;
      expect(list.hits.at(container.racks.x[rack]! + 0.1, y, 0, 50)?.item).toEqual({
        kind: "rack",
        id: rack,
      });
    }
  });
});

function turnBack(scene: ReturnType<typeof sampleBcube>["scene"]): typeof scene {
  const turn = (ys: readonly number[]) => ys.map((y) => scene.enclosure.width_metres - y);
  return {
    ...scene,
    racks: {
      ...scene.racks,
      y_metres: turn(scene.racks.y_metres),
      tray_y_metres: turn(scene.racks.tray_y_metres),
    },
    trays: { ...scene.trays, y0_metres: turn(scene.trays.y0_metres), y1_metres: turn(scene.trays.y1_metres) },
  };
}

/** Boxes outside the bounds. Counted, as an `expect` for each of thousands takes seconds. */
function within({ batches, bounds }: DisplayList): void {
  let outside = 0;
  for (const batch of batches)
    if (batch.kind === "rects")
      for (let i = 0; i < batch.boxes.length; i += 4) {
        const [x, y, width, height] = batch.boxes.subarray(i, i + 4);
        if (x! < bounds.x - 1e-3 || y! < bounds.y - 1e-3) outside++;
        if (x! + width! > bounds.x + bounds.width + 1e-3) outside++;
        if (y! + height! > bounds.y + bounds.height + 1e-3) outside++;
      }
  expect(outside).toBe(0);
}

/** All batches as text: equal text is an equal picture. */
function fingerprint({ batches, bounds, drawn }: DisplayList): string {
  const plain = (_: string, value: unknown) => (ArrayBuffer.isView(value) ? String(value) : value);
  return JSON.stringify({ batches, bounds, drawn }, plain);
}

describe("matrix", () => {
  it("holds every cable once on or above the diagonal", () => {
    const { size, cables } = rackMatrix(container);
    let sum = 0;
    for (let row = 0; row < size; row++)
      for (let column = row; column < size; column++) {
        sum += cables[row * size + column]!;
        expect(cables[row * size + column]).toBe(cables[column * size + row]);
      }
    expect(sum).toBe(8192);
  });
});

describe("colour scale", () => {
  it("spans its values, and is flat when there is nothing to tell apart", () => {
    const power = colourScale(container, "power");
    expect(power.kind).toBe("ramp");
    // Racks of 8.1 and 9.1 kW are much alike: the ramp begins at three quarters of the most.
    expect(power.domain).toEqual([0.75 * 9100, 9100]);
    expect(power.colourOfValue(8100)).not.toBe(power.colourOfValue(9100));
    const units = colourScale(container, "units");
    expect(units.kind).toBe("flat");
    expect(units.stops).toEqual([{ colour: "rack", text: "42\u00a0U" }]);
    expect(colourScale(container, "group").stops.map((stop) => stop.text)).toEqual(
      [0, 1, 2, 3].map((i) => `super-rack ${i}`),
    );
  });

  it("says when a quantity is not known", () => {
    const { scene } = sampleBcube(4, 4);
    const model = createModel({
      ...scene,
      racks: { ...scene.racks, weight_kg: scene.racks.name.map(() => null) },
    });
    const weight = colourScale(model, "weight");
    expect(weight.kind).toBe("none");
    expect(weight.colourOf(0)).toBe("rack");
    finite(buildView(model, "floor", { ...OPTIONS, colourBy: "weight" }));
  });
});

describe("descriptions", () => {
  it("say where both ends of a cable are", () => {
    expect(describeItem(container, { kind: "cable", id: 3 })).toMatchInlineSnapshot(`
      {
        "lines": [
          "0000 · R00 · U1A:P3",
          "<3,000> · R00 · U41A:P0",
          "L3 · 1.5 m, stock 2.0 m",
          "in rack",
        ],
        "title": "C00003",
      }
    `);
    expect(describeItem(container, { kind: "rack", id: 11 }).title).toBe("R11");
  });
});
