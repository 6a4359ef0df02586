import { expect, test } from "vitest";
import type { PlanModel } from "@/scene/model";
import { placeName, portName } from "./names";

/** One server in rack R07 (and nothing else), as far as names go. */
function serverAt(unit: number, slot: number, slots: number, topology: object | null = null): PlanModel {
  return {
    topology,
    racks: { names: ["R07"] },
    devices: {
      names: ["(0,0,0)"],
      kind: Uint8Array.of(0),
      rack: Int32Array.of(0),
      unit: Int32Array.of(unit),
      slot: Int32Array.of(slot),
      slots: Int32Array.of(slots),
    },
  } as unknown as PlanModel;
}

test("a place reads as on the printed label: two digits, a letter where a unit is shared", () => {
  expect(placeName(serverAt(5, 0, 1), 0)).toBe("R07-05");
  expect(placeName(serverAt(12, 1, 2), 0)).toBe("R07-12B");
  expect(placeName(serverAt(3, 25, 40), 0)).toBe("R07-03Z");
  expect(placeName(serverAt(3, 26, 40), 0)).toBe("R07-03AA");
});

test("a device that found no unit goes by its name", () => {
  expect(placeName(serverAt(0, 0, 1), 0)).toBe("R07-(0,0,0)");
});

test("a torus port is its direction; an axis of two has one port, of one has none", () => {
  const ports = (x: number, y: number, z: number, count: number) =>
    Array.from({ length: count }, (_, port) =>
      portName(serverAt(1, 0, 1, { family: "torus3d", x, y, z }), 0, port),
    );
  expect(ports(4, 4, 4, 6)).toEqual(["x+", "x-", "y+", "y-", "z+", "z-"]);
  expect(ports(2, 1, 3, 3)).toEqual(["x+", "z+", "z-"]);
});
