import { expect, test } from "vitest";
import type { Run } from "@/api/types";
import OUTLINES from "../picture/testing/outlines.json";
import type { NetworkFrame } from "../session/frames";
import { networkOf, nodeName, readItem, stepsOf, writeItem } from "../session/network";
import { emptySession } from "../session/session";
import { neighboursOf } from "./neighbours";

const NETWORK = networkOf({
  ...OUTLINES["DCell(4, 1)"],
  rate_bits_per_sec: 1e8,
  flows: { source: [], destination: [], ideal_bits_per_sec: [] },
} as unknown as NetworkFrame);

test("a server's neighbours are those at its switch and those at the far end of its direct cables", () => {
  for (let row = 0; row < NETWORK.servers; row++) {
    const neighbours = neighboursOf(emptySession({ state: "running" } as Run), NETWORK, row, 0);
    const [direct, shared] = [
      neighbours.filter(({ by }) => by === null),
      neighbours.filter(({ by }) => by !== null),
    ];
    // In a DCell(4, 1), a server shares its switch with three others and has one cable to another
    // group. [dcell §3.1]
    expect(shared).toHaveLength(3);
    expect(direct).toHaveLength(1);
    const { server, link } = direct[0]!;
    expect(new Set([NETWORK.a[link], NETWORK.b[link]])).toEqual(new Set([row, server]));
  }
});

test("a direct cable has a name that selects it, and a path goes over it", () => {
  const link = Array.from(NETWORK.b).findIndex((end) => end < NETWORK.servers);
  const [a, b] = [NETWORK.a[link]!, NETWORK.b[link]!];
  const item = { kind: "link", row: link } as const;
  expect(writeItem(NETWORK, item)).toBe(`link:${nodeName(NETWORK, a)}/${nodeName(NETWORK, b)}`);
  expect(readItem(NETWORK, writeItem(NETWORK, item))).toEqual(item);
  expect(stepsOf(NETWORK, [a, b])).toEqual([{ link, forth: true }]);
  expect(stepsOf(NETWORK, [b, a])).toEqual([{ link, forth: false }]);
});
