import { expect, test } from "vitest";
import { createModel } from "@/scene/model";
import { sampleBcube } from "@/scene/testing/sample-plan";
import { cableLabel } from "@/shared/plans/names";
import { cableName } from "@/units";
import { exceptionsCsv } from "./exceptions-csv";
import { cableEnds, pullList, trayText } from "./order";

const sample = sampleBcube();
const model = createModel(sample.scene, sample.cables, null);
const { devices, cables, racks } = model;
const racksOf = (cable: number) => [
  devices.rack[cables.aDevice[cable]!]!,
  devices.rack[cables.bDevice[cable]!]!,
];

test("a rack's list has every cable with an end in it, once", () => {
  for (let rack = 0; rack < racks.count; rack++) {
    const own = Array.from({ length: cables.count }, (_, cable) => cable).filter((cable) =>
      racksOf(cable).includes(rack),
    );
    const list = pullList(model, rack);
    expect([...list].sort((a, b) => a - b)).toEqual(own);
  }
});

test("cables within the rack come first, then whole bundles in pull order, each by level", () => {
  const order = model.scene.bundles.pull_order;
  let crossing = 0;
  for (let rack = 0; rack < racks.count; rack++) {
    const keys = pullList(model, rack).map((cable) => {
      const bundle = cables.bundle[cable]!;
      return [bundle < 0 ? -1 : order[bundle]!, cables.level[cable]!] as const;
    });
    crossing += keys.filter(([bundle]) => bundle >= 0).length;
    for (let at = 1; at < keys.length; at++) {
      const [before, now] = [keys[at - 1]!, keys[at]!];
      expect(before[0] < now[0] || (before[0] === now[0] && before[1] <= now[1])).toBe(true);
    }
  }
  expect(crossing).toBeGreaterThan(0);
});

test("the end in the crew's rack comes first, and each end has its own label", () => {
  for (let rack = 0; rack < racks.count; rack++)
    for (const cable of pullList(model, rack)) {
      const [here, there] = cableEnds(model, cable, rack);
      expect(here.rack).toBe(racks.names[rack]);
      const fromB = racksOf(cable)[0] !== rack;
      expect([here.label, there.label]).toEqual([
        cableLabel(model, cable, fromB),
        cableLabel(model, cable, !fromB),
      ]);
      expect(here.place).toBe(`${here.rack}-${here.unit.slice(1)}:${here.port}`);
      expect(here.unit).toMatch(/^U\d\d+[A-Z]*$/);
      expect(here.label.startsWith(`${here.place}/`) && here.place.endsWith(`:${here.port}`)).toBe(true);
    }
});

test("trays read from the crew's rack, and the other rack reads them the other way round", () => {
  const between = Array.from({ length: cables.count }, (_, cable) => cable).filter(
    (cable) => cables.bundle[cable]! >= 0,
  );
  expect(between.length).toBeGreaterThan(0);
  const names = (text: string[]) => text.map((row) => row.split(" to "));
  for (const cable of between) {
    const [a, b] = racksOf(cable) as [number, number];
    const forth = names(trayText(model, cable, a));
    expect(forth.length).toBeGreaterThan(0);
    expect(names(trayText(model, cable, b))).toEqual(forth.map((row) => [...row].reverse()).reverse());
  }
  for (let cable = 0; cable < cables.count; cable++)
    if (cables.bundle[cable]! < 0) expect(trayText(model, cable, racksOf(cable)[0]!)).toEqual([]);
});

test("problems are listed with both labels, and a note cannot become a formula", () => {
  const mark = { cable: 3, state: "exception" as const, note: "=1+1", by: null, at: "2026-11-22T09:00:00Z" };
  const [head, row] = exceptionsCsv(model, [mark]).split("\r\n");
  expect(head).toBe("Cable,Rack,Label near,Label far,Problem,By,At");
  expect(row).toBe(
    `${cableName(3)},${racks.names[racksOf(3)[0]!]},${cableLabel(model, 3)},${cableLabel(model, 3, true)},'=1+1,,${mark.at}`,
  );
});
