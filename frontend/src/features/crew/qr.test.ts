import { expect, test } from "vitest";
import { alignmentCentres, type Qr, qrOf, times } from "./qr";

/**
 * Reads a code back with nothing of the encoder but its field arithmetic: format, mask, words,
 * blocks, syndromes, text.
 */
function read({ size, modules }: Qr): string {
  const at = (x: number, y: number) => modules[y * size + x]!;
  const version = (size - 17) / 4;
  const format =
    [...[0, 1, 2, 3, 4, 5, 7, 8].map((y) => at(8, y)), ...[7, 5, 4, 3, 2, 1, 0].map((x) => at(x, 8))].reduce(
      (bits, bit, place) => bits | (bit << place),
      0,
    ) ^ 0x5412;
  expect(format >>> 13, "level M").toBe(0);
  const mask = (format >>> 10) & 7;
  const masked = [
    (i: number, j: number) => (i + j) % 2,
    (i: number) => i % 2,
    (_: number, j: number) => j % 3,
    (i: number, j: number) => (i + j) % 3,
    (i: number, j: number) => (Math.floor(i / 2) + Math.floor(j / 3)) % 2,
    (i: number, j: number) => ((i * j) % 2) + ((i * j) % 3),
    (i: number, j: number) => (((i * j) % 2) + ((i * j) % 3)) % 2,
    (i: number, j: number) => (((i + j) % 2) + ((i * j) % 3)) % 2,
  ][mask]!;
  const words = wordsOf(size, version, (x, y) => at(x, y) ^ (masked(y, x) === 0 ? 1 : 0));
  const [correction, count] = [
    [10, 1], [16, 1], [26, 1], [18, 2], [24, 2], [16, 4], [18, 4], [22, 4], [22, 5], [26, 5],
  ][version - 1]! as [number, number]; // biome-ignore format: a table
  const data = words.length - correction * count;
  const lengths = Array.from(
    { length: count },
    (_, block) => Math.floor(data / count) + (block >= count - (data % count) ? 1 : 0),
  );
  const blocks: number[][] = lengths.map(() => []);
  let next = 0;
  for (let word = 0; word < lengths.at(-1)!; word++)
    blocks.forEach((block, of) => {
      if (word < lengths[of]!) block.push(words[next++]!);
    });
  for (let word = 0; word < correction; word++) for (const block of blocks) block.push(words[next++]!);
  for (const block of blocks) for (const root of roots(correction)) expect(valueAt(block, root)).toBe(0);
  const bits = blocks
    .flatMap((block, of) => block.slice(0, lengths[of]))
    .map((word) => word.toString(2).padStart(8, "0"))
    .join("");
  expect(bits.slice(0, 4)).toBe("0100");
  const from = version < 10 ? 12 : 20;
  const length = Number.parseInt(bits.slice(4, from), 2);
  return new TextDecoder().decode(
    Uint8Array.from({ length }, (_, i) => Number.parseInt(bits.slice(from + 8 * i, from + 8 * i + 8), 2)),
  );
}

const roots = (count: number) => {
  const found = [1];
  while (found.length < count) found.push(times(found.at(-1)!, 2));
  return found;
};

const valueAt = (words: number[], x: number) => words.reduce((sum, word) => times(sum, x) ^ word, 0);

function wordsOf(size: number, version: number, at: (x: number, y: number) => number): number[] {
  const centres = alignmentCentres(version, size);
  const corner = (x: number, y: number) =>
    (x < 9 && y < 9) || (x < 9 && y >= size - 8) || (x >= size - 8 && y < 9);
  const taken = (x: number, y: number) =>
    x === 6 ||
    y === 6 ||
    corner(x, y) ||
    centres.some((cx) =>
      centres.some((cy) => !corner(cx, cy) && Math.abs(cx - x) <= 2 && Math.abs(cy - y) <= 2),
    ) ||
    (version >= 7 && ((x < 6 && y >= size - 11) || (y < 6 && x >= size - 11)));
  const bits: number[] = [];
  let up = true;
  for (let right = size - 1; right > 0; right -= 2, up = !up) {
    if (right === 6) right--;
    for (let step = 0; step < size; step++)
      for (const x of [right, right - 1]) {
        const y = up ? size - 1 - step : step;
        if (!taken(x, y)) bits.push(at(x, y));
      }
  }
  return Array.from({ length: Math.floor(bits.length / 8) }, (_, word) =>
    Number.parseInt(bits.slice(8 * word, 8 * word + 8).join(""), 2),
  );
}

test("every length that fits is read back, and longer texts have no code", () => {
  for (let length = 0; length <= 213; length++) {
    const text = Array.from({ length }, (_, i) =>
      String.fromCharCode(33 + ((i * 37 + length * 11) % 94)),
    ).join("");
    const code = qrOf(text);
    expect(code, `${length} bytes`).not.toBeNull();
    expect(read(code!)).toBe(text);
  }
  expect(qrOf("x".repeat(214))).toBeNull();
});

test("labels of any alphabet are read back", () => {
  for (const label of ["R07-12B:P3/R15-36:P7", "R00-01:eth1/R00-42:P12", "Gerüst-3:x+/塔:z-"])
    expect(read(qrOf(label)!)).toBe(label);
});

test("a label has the matrix that another encoder gives it (python-qrcode 8, mask 2)", () => {
  const { size, modules } = qrOf("R07-12B:P3/R15-36:P7")!;
  const rows = Array.from({ length: size }, (_, y) =>
    Number.parseInt(modules.slice(y * size, (y + 1) * size).join(""), 2).toString(16),
  );
  expect(rows.join(" ")).toBe(
    "1fc5c7f 1040a41 175315d 175b75d 175d45d 105a341 1fd557f 1b000 17c6b7c 162e482 13d7f45 1c86789 126006d 18a5826 145cf91 1635b98 15e57f5 1811b 1fc3153 1052719 17563f7 1751cfb 1750ecd 1049951 1fd960b",
  );
});
