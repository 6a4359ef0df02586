/** A fixed-size set of small integers: membership in one load, no allocation while painting. */
export class Bitset {
  readonly size: number;
  private readonly words: Uint32Array;

  constructor(size: number) {
    this.size = size;
    this.words = new Uint32Array((size + 31) >>> 5);
  }

  static of(size: number, ids: Iterable<number>): Bitset {
    const set = new Bitset(size);
    for (const id of ids) set.add(id);
    return set;
  }

  /** Ids out of range are ignored: a selection from a URL may name a rack of an older revision. */
  add(id: number): void {
    if (id >= 0 && id < this.size) this.words[id >>> 5]! |= 1 << (id & 31);
  }

  has(id: number): boolean {
    return id >= 0 && id < this.size && (this.words[id >>> 5]! & (1 << (id & 31))) !== 0;
  }

  count(): number {
    let total = 0;
    for (let word of this.words) {
      word -= (word >>> 1) & 0x55555555;
      word = (word & 0x33333333) + ((word >>> 2) & 0x33333333);
      total += Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
    }
    return total;
  }

  /** The members in ascending order. */
  toArray(): Uint32Array {
    const ids = new Uint32Array(this.count());
    let at = 0;
    for (let w = 0; w < this.words.length; w++) {
      let word = this.words[w]!;
      while (word !== 0) {
        const low = word & -word;
        ids[at++] = (w << 5) + (31 - Math.clz32(low));
        word ^= low;
      }
    }
    return ids;
  }
}
