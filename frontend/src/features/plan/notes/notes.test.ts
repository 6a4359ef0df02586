import { expect, test } from "vitest";
import type { Note } from "@/api/types";
import { createModel } from "@/scene/model";
import { sampleBcube } from "@/scene/testing/sample-plan";
import { portName, traceOf } from "@/shared/plans/names";
import { pack } from "@/shared/plans/share";
import { cableName } from "@/units";
import { MAX_LINK_NOTES, packNotes, unpackNotes } from "./link-notes";
import { notesOn, placeOf, selectionOf } from "./places";
import { floorPins } from "./use-floor-pins";

const { scene, cables } = sampleBcube(4, 4);
const model = createModel(scene, cables);

function note(anchor: Partial<Note["anchor"]>, fields: Partial<Note> = {}): Note {
  return {
    id: "0a1b2c3d4e5f6g",
    plan: "p",
    revision: 1,
    here: null,
    text: "look",
    version: 1,
    by: "crew east",
    at: "2026-11-23T10:00:00Z",
    edited_by: null,
    edited_at: null,
    resolved_by: null,
    resolved_at: null,
    ...fields,
    anchor: { kind: "rack", name: null, ends: null, run: null, at_secs: null, ...anchor },
  };
}

/** A note on that cable, as the server has it. */
function onCable(cable: number, name = cableName(cable)): Note {
  const { aDevice, aPort, bDevice, bPort } = model.cables;
  const end = (device: number, port: number) => [model.devices.names[device]!, portName(model, device, port)];
  const ends = [...end(aDevice[cable]!, aPort[cable]!), ...end(bDevice[cable]!, bPort[cable]!)];
  return note({ kind: "cable", name, ends });
}

test("a note is found at its pin, and on a cable by the cable's ends, even if its number changes", () => {
  expect(selectionOf(model, note({ kind: "rack", name: model.racks.names[1]! }))).toEqual({
    kind: "rack",
    ids: [1],
  });
  expect(selectionOf(model, note({ kind: "device", name: model.devices.names[3]! }))).toEqual({
    kind: "device",
    ids: [3],
  });
  for (let cable = 0; cable < model.cables.count; cable++)
    expect(selectionOf(model, onCable(cable, "C99999"))).toEqual({ kind: "cable", ids: [cable] });
  const swapped = onCable(5);
  const [a, b, c, d] = swapped.anchor.ends!;
  expect(selectionOf(model, note({ kind: "cable", name: "C00005", ends: [c!, d!, a!, b!] }))).toEqual({
    kind: "cable",
    ids: [5],
  });
});

test("items that the plan does not have are not selected", () => {
  expect(selectionOf(model, note({ kind: "rack", name: "R99" }))).toBeNull();
  expect(selectionOf(model, note({ kind: "device", name: "99999" }))).toBeNull();
  expect(selectionOf(model, note({ kind: "device", name: model.devices.hosts[3]! }))).toBeNull();
  expect(selectionOf(model, note({ kind: "moment", at_secs: 3, run: "r" }))).toBeNull();
  const [aDevice, aPort, bDevice] = onCable(0).anchor.ends!;
  expect(
    selectionOf(model, note({ kind: "cable", name: "C00000", ends: [aDevice!, aPort!, bDevice!, "P99"] })),
  ).toBeNull();
});

test("a single selected item has notes, several items have none", () => {
  const rack = note({ kind: "rack", name: model.racks.names[0]! });
  const cable = traceOf(model, 0)[0]!.cable;
  const notes = [rack, onCable(cable), note({ kind: "device", name: model.devices.names[0]! })];
  expect(notesOn(model, notes, placeOf(model, { kind: "rack", ids: [0] })!)).toEqual([rack]);
  expect(notesOn(model, notes, placeOf(model, { kind: "cable", ids: [cable] })!)).toEqual([notes[1]]);
  expect(placeOf(model, { kind: "rack", ids: [0, 1] })).toBeNull();
  expect(placeOf(model, { kind: "level", ids: [0] })).toBeNull();
  expect(placeOf(model, null)).toBeNull();
});

test("open notes on the plan travel in a link with their authors, others do not", async () => {
  const notes = [
    note({ kind: "rack", name: "R00" }, { text: "Tür klemmt ☂" }),
    onCable(3),
    note({ kind: "rack", name: "R01" }, { resolved_at: "2026-11-23T11:00:00Z" }),
    note({ kind: "moment", at_secs: 3, run: "r" }),
  ];
  const read = await unpackNotes((await packNotes(notes))!);
  expect(read.map(({ anchor, text, by, at }) => [anchor.kind, anchor.name, text, by, at])).toEqual([
    ["rack", "R00", "Tür klemmt ☂", "crew east", "2026-11-23T10:00:00Z"],
    ["cable", "C00003", "look", "crew east", "2026-11-23T10:00:00Z"],
  ]);
  expect(selectionOf(model, read[1]!)).toEqual({ kind: "cable", ids: [3] });
  expect(await packNotes(notes.slice(2))).toBeNull();
  expect(await packNotes(Array.from({ length: MAX_LINK_NOTES + 1 }, () => notes[0]!))).toBeNull();
});

test("invalid notes in a link are left out, and a damaged link is refused", async () => {
  const good = { kind: "rack", name: "R00", ends: null, text: "x", by: "y", at: "2026-11-23T10:00:00Z" };
  const bad = [
    { ...good, kind: "castle" },
    { ...good, kind: "cable" },
    { ...good, text: "x".repeat(2001) },
    { ...good, at: "soon" },
    { ...good, by: 3 },
    null,
    "x",
  ];
  expect((await unpackNotes(await pack([good, ...bad]))).map(({ text }) => text)).toEqual(["x"]);
  expect(await unpackNotes(await pack({ no: "list" }))).toEqual([]);
  await expect(unpackNotes("1broken")).rejects.toThrow("damaged");
});

test("open notes are marked on the floor: a mark for each item, stacked if at the same place", () => {
  const rack = { kind: "rack" as const, name: model.racks.names[0]! };
  const inside = model.devices.rack.indexOf(0);
  const pins = floorPins(model, [
    note(rack, { text: "door" }),
    note(rack, { text: "again" }),
    note({ kind: "device", name: model.devices.names[inside]! }),
    note({ kind: "rack", name: model.racks.names[1]! }, { resolved_at: "2026-11-23T11:00:00Z" }),
    note({ kind: "rack", name: "R99" }),
    note({ kind: "moment", at_secs: 3, run: "r" }),
    onCable(0),
  ]);
  expect(pins.map(({ label }) => label)).toEqual([
    `2 notes on rack ${rack.name}`,
    `Note on device ${model.devices.names[inside]}`,
    "Note on cable C00000",
  ]);
  expect(pins[0]).toMatchObject({
    place: 0,
    title: `${rack.name}: door`,
    selection: { kind: "rack", ids: [0] },
  });
  // A device is in its rack, so its mark is drawn above the rack's.
  expect(pins[1]).toMatchObject({ x: pins[0]!.x, y: pins[0]!.y, place: 1 });
  const { x, y, depth } = model.racks;
  expect([pins[0]!.x, pins[0]!.y]).toEqual([x[0]!, y[0]! - depth[0]! / 2]);
});
