import { describe, expect, it } from "vitest";
import { Bitset, HitIndex } from "./index";

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

describe("Bitset", () => {
  it("behaves as a set of integers", () => {
    const next = random(3);
    for (let round = 0; round < 50; round++) {
      const size = 1 + Math.floor(next() * 200);
      const bits = new Bitset(size);
      const set = new Set<number>();
      for (let i = 0; i < 80; i++) {
        const id = Math.floor(next() * size * 1.5) - 5;
        bits.add(id);
        if (id >= 0 && id < size) set.add(id);
      }
      expect([...bits.toArray()]).toEqual([...set].sort((a, b) => a - b));
      expect(bits.count()).toBe(set.size);
      for (let id = -3; id < size + 40; id++) expect(bits.has(id)).toBe(set.has(id));
    }
  });
});

describe("HitIndex", () => {
  it("finds what a search through all boxes finds, the last one first", () => {
    const next = random(11);
    const index = new HitIndex();
    const boxes: number[][] = [];
    for (let id = 0; id < 300; id++) {
      const box = [next() * 90, next() * 40, next() * 9, next() * 5];
      boxes.push(box);
      index.addBox({ kind: "device", id }, box[0]!, box[1]!, box[2]!, box[3]!);
    }
    for (let i = 0; i < 500; i++) {
      const [x, y] = [next() * 100, next() * 46];
      let expected: number | undefined;
      boxes.forEach(([bx, by, bw, bh], id) => {
        if (x >= bx! && x <= bx! + bw! && y >= by! && y <= by! + bh!) expected = id;
      });
      expect(index.at(x, y, 0, 1)?.item.id).toBe(expected);
    }
  });

  it("prefers a line within reach, respects polygons and scales", () => {
    const index = new HitIndex();
    index.addBox({ kind: "rack", id: 1 }, 0, 0, 10, 10);
    index.addSegment({ kind: "cable", id: 7 }, 0, 5, 10, 5, 2);
    index.addPolygon({ kind: "tray", id: 3 }, [20, 0, 30, 0, 20, 10]);
    expect(index.at(5, 5.4, 0.5, 2)?.item).toEqual({ kind: "cable", id: 7 });
    expect(index.at(5, 5.4, 0.5, 1)?.item).toEqual({ kind: "rack", id: 1 });
    expect(index.at(5, 7, 0.5, 2)?.item).toEqual({ kind: "rack", id: 1 });
    expect(index.at(22, 2, 0, 1)?.item).toEqual({ kind: "tray", id: 3 });
    expect(index.at(29, 9, 0, 1)).toBeNull();
    expect(index.find("tray", 3)?.outline).toEqual([20, 0, 30, 0, 20, 10]);
  });
});
