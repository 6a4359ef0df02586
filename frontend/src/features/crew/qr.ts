/**
 * A text as a QR code (ISO/IEC 18004, byte mode, error correction level M), as a matrix of dark and
 * light modules. Versions 1 to 10, that is at most 213 bytes of UTF-8: a label has about 25.
 */

/** By version from 1: error-correction code words of a block, and number of blocks, at level M. */
const CORRECTION = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26];
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5];
const LEVEL_M = 0;
const PADDING = [0xec, 0x11];
const FORMAT_POLYNOMIAL = 0x537;
const FORMAT_MASK = 0x5412;
const VERSION_POLYNOMIAL = 0x1f25;

export interface Qr {
  /** Modules along an edge, without the quiet zone of four that has to surround them. */
  size: number;
  /** 1 is dark; row by row from the top. */
  modules: Uint8Array;
}

/** The code of `text`, or null for a text that is too long. */
export function qrOf(text: string): Qr | null {
  const bytes = new TextEncoder().encode(text);
  for (let version = 1; version <= CORRECTION.length; version++) {
    const words = dataWords(version);
    if (4 + countBits(version) + 8 * bytes.length > 8 * words) continue;
    return drawn(version, withCorrection(version, encoded(version, bytes, words)));
  }
  return null;
}

const countBits = (version: number) => (version < 10 ? 8 : 16);

/** Modules that carry data or error correction. */
function rawModules(version: number): number {
  let modules = (16 * version + 128) * version + 64;
  if (version >= 2) {
    const alignments = Math.floor(version / 7) + 2;
    modules -= (25 * alignments - 10) * alignments - 55;
    if (version >= 7) modules -= 36;
  }
  return modules;
}

function dataWords(version: number): number {
  return Math.floor(rawModules(version) / 8) - CORRECTION[version - 1]! * BLOCKS[version - 1]!;
}

function encoded(version: number, bytes: Uint8Array, words: number): Uint8Array {
  const bits: number[] = [];
  const put = (value: number, length: number) => {
    for (let bit = length - 1; bit >= 0; bit--) bits.push((value >>> bit) & 1);
  };
  put(0b0100, 4);
  put(bytes.length, countBits(version));
  for (const byte of bytes) put(byte, 8);
  put(0, Math.min(4, 8 * words - bits.length));
  put(0, (8 - (bits.length % 8)) % 8);
  for (let at = 0; bits.length < 8 * words; at++) put(PADDING[at % 2]!, 8);
  return Uint8Array.from({ length: words }, (_, word) =>
    bits.slice(8 * word, 8 * word + 8).reduce((value, bit) => 2 * value + bit, 0),
  );
}

/** In the field of 256 elements whose polynomial is x^8 + x^4 + x^3 + x^2 + 1. */
export function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d);
    product ^= ((b >>> bit) & 1) * a;
  }
  return product;
}

/** The product of (x - 2^i) for i below `degree`, without its leading 1. */
function generator(degree: number): Uint8Array {
  const result = new Uint8Array(degree);
  result[degree - 1] = 1;
  let root = 1;
  for (let i = 0; i < degree; i++) {
    for (let at = 0; at < degree; at++)
      result[at] = times(result[at]!, root) ^ (at + 1 < degree ? result[at + 1]! : 0);
    root = times(root, 2);
  }
  return result;
}

function remainder(data: Uint8Array, divisor: Uint8Array): Uint8Array {
  const result = new Uint8Array(divisor.length);
  for (const word of data) {
    const factor = word ^ result[0]!;
    result.copyWithin(0, 1);
    result[result.length - 1] = 0;
    for (let at = 0; at < divisor.length; at++) result[at]! ^= times(divisor[at]!, factor);
  }
  return result;
}

/** Data in blocks, each followed by its error correction, all interleaved. */
function withCorrection(version: number, data: Uint8Array): Uint8Array {
  const count = BLOCKS[version - 1]!;
  const divisor = generator(CORRECTION[version - 1]!);
  const short = Math.floor(data.length / count);
  const longer = data.length % count;
  const blocks: { data: Uint8Array; correction: Uint8Array }[] = [];
  for (let block = 0, from = 0; block < count; block++) {
    // Blocks that are one word longer come last.
    const to = from + short + (block >= count - longer ? 1 : 0);
    const part = data.subarray(from, to);
    blocks.push({ data: part, correction: remainder(part, divisor) });
    from = to;
  }
  const words: number[] = [];
  for (let at = 0; at <= short; at++)
    for (const block of blocks) if (at < block.data.length) words.push(block.data[at]!);
  for (let at = 0; at < divisor.length; at++) for (const block of blocks) words.push(block.correction[at]!);
  return Uint8Array.from(words);
}

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The matrix with the mask that the standard's penalty rules prefer. */
function drawn(version: number, words: Uint8Array): Qr {
  const size = 17 + 4 * version;
  const base = new Grid(size);
  functionPatterns(base, version);
  const reserved = base.reserved.slice();
  placeWords(base, words);
  let best: { modules: Uint8Array; penalty: number } | undefined;
  for (let mask = 0; mask < MASKS.length; mask++) {
    const grid = new Grid(size, base.modules.slice());
    for (let y = 0; y < size; y++)
      for (let x = 0; x < size; x++)
        if (!reserved[y * size + x] && MASKS[mask]!(x, y)) grid.modules[y * size + x]! ^= 1;
    formatBits(grid, mask);
    const penalty = penaltyOf(grid.modules, size);
    if (!best || penalty < best.penalty) best = { modules: grid.modules, penalty };
  }
  return { size, modules: best!.modules };
}

class Grid {
  readonly reserved: Uint8Array;

  constructor(
    readonly size: number,
    readonly modules = new Uint8Array(size * size),
  ) {
    this.reserved = new Uint8Array(size * size);
  }

  /** Sets a module that carries no data. */
  set(x: number, y: number, dark: boolean | number): void {
    this.modules[y * this.size + x] = dark ? 1 : 0;
    this.reserved[y * this.size + x] = 1;
  }
}

function functionPatterns(grid: Grid, version: number): void {
  const { size } = grid;
  for (let at = 0; at < size; at++) {
    grid.set(6, at, at % 2 === 0);
    grid.set(at, 6, at % 2 === 0);
  }
  const centres = alignmentCentres(version, size);
  const last = centres.length - 1;
  centres.forEach((x, i) => {
    centres.forEach((y, j) => {
      const finder = (i === 0 && (j === 0 || j === last)) || (i === last && j === 0);
      if (!finder) square(grid, x, y, 2, (distance) => distance !== 1);
    });
  });
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ])
    square(grid, x!, y!, 4, (distance) => distance !== 2 && distance !== 4);
  formatBits(grid, 0); // reserves their room
  if (version >= 7) versionBits(grid, version);
}

/** A pattern around (x, y) that depends on the distance from it, as far as it lies in the grid. */
function square(grid: Grid, x: number, y: number, reach: number, dark: (distance: number) => boolean): void {
  for (let dy = -reach; dy <= reach; dy++)
    for (let dx = -reach; dx <= reach; dx++) {
      const [at, up] = [x + dx, y + dy];
      if (at >= 0 && at < grid.size && up >= 0 && up < grid.size)
        grid.set(at, up, dark(Math.max(Math.abs(dx), Math.abs(dy))));
    }
}

export function alignmentCentres(version: number, size: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = 2 * Math.ceil((4 * version + 4) / (2 * count - 2));
  return [6, ...Array.from({ length: count - 1 }, (_, at) => size - 7 - step * (count - 2 - at))];
}

/** `value` followed by its remainder after division by the polynomial, of `degree` bits. */
function withRemainder(value: number, polynomial: number, degree: number): number {
  let rest = value;
  for (let i = 0; i < degree; i++) rest = (rest << 1) ^ ((rest >>> (degree - 1)) * polynomial);
  return (value << degree) | rest;
}

function formatBits(grid: Grid, mask: number): void {
  const { size } = grid;
  const bits = withRemainder((LEVEL_M << 3) | mask, FORMAT_POLYNOMIAL, 10) ^ FORMAT_MASK;
  const bit = (at: number) => (bits >>> at) & 1;
  for (let at = 0; at <= 5; at++) grid.set(8, at, bit(at));
  grid.set(8, 7, bit(6));
  grid.set(8, 8, bit(7));
  grid.set(7, 8, bit(8));
  for (let at = 9; at < 15; at++) grid.set(14 - at, 8, bit(at));
  for (let at = 0; at < 8; at++) grid.set(size - 1 - at, 8, bit(at));
  for (let at = 8; at < 15; at++) grid.set(8, size - 15 + at, bit(at));
  grid.set(8, size - 8, true);
}

function versionBits(grid: Grid, version: number): void {
  const bits = withRemainder(version, VERSION_POLYNOMIAL, 12);
  for (let at = 0; at < 18; at++) {
    const [far, near] = [grid.size - 11 + (at % 3), Math.floor(at / 3)];
    grid.set(far, near, (bits >>> at) & 1);
    grid.set(near, far, (bits >>> at) & 1);
  }
}

/** In pairs of columns from the right, up and down in turn. */
function placeWords(grid: Grid, words: Uint8Array): void {
  const { size } = grid;
  let bit = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5; // the timing pattern's column is none of a pair
    for (let step = 0; step < size; step++)
      for (const x of [right, right - 1]) {
        const y = ((right + 1) & 2) === 0 ? size - 1 - step : step;
        if (grid.reserved[y * size + x] || bit >= 8 * words.length) continue;
        grid.modules[y * size + x] = (words[bit >>> 3]! >>> (7 - (bit & 7))) & 1;
        bit++;
      }
  }
}

/**
 * The four rules of the standard: runs, blocks, what looks like a finder, and the share of dark
 * modules.
 */
function penaltyOf(modules: Uint8Array, size: number): number {
  const at = (x: number, y: number) => modules[y * size + x]!;
  let penalty = 0;
  for (let line = 0; line < size; line++) {
    penalty += linePenalty(Array.from({ length: size }, (_, x) => at(x, line)));
    penalty += linePenalty(Array.from({ length: size }, (_, y) => at(line, y)));
  }
  for (let y = 0; y + 1 < size; y++)
    for (let x = 0; x + 1 < size; x++)
      if (at(x, y) === at(x + 1, y) && at(x, y) === at(x, y + 1) && at(x, y) === at(x + 1, y + 1))
        penalty += 3;
  const dark = modules.reduce((sum, module) => sum + module, 0);
  return penalty + 10 * Math.floor(Math.abs((20 * dark) / (size * size) - 10));
}

const FINDER_LIKE = /(?=10111010000|00001011101)/g;

function linePenalty(line: number[]): number {
  const text = line.join("");
  const runs = [...text.matchAll(/0{5,}|1{5,}/g)].reduce((sum, [run]) => sum + run.length - 2, 0);
  return runs + 40 * [...text.matchAll(FINDER_LIKE)].length;
}
