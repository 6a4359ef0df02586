/** Packets as rows of bytes. */
export interface Byte {
  /** From 0, the Ethernet header's first. */
  at: number;
  hex: string;
  changed: boolean;
}

const ROW_BYTES = 16;

/**
 * Rows of 16 bytes of a packet in hexadecimal digits; with `changed`, only rows that have such a
 * byte.
 */
export function rowsOf(hex: string, changed: readonly number[] = []): Byte[][] {
  const marked = new Set(changed);
  const rows: Byte[][] = [];
  for (let from = 0; from * 2 < hex.length; from += ROW_BYTES) {
    const row: Byte[] = [];
    for (let at = from; at < from + ROW_BYTES && at * 2 < hex.length; at++)
      row.push({ at, hex: hex.slice(at * 2, at * 2 + 2), changed: marked.has(at) });
    if (marked.size === 0 || row.some((byte) => byte.changed)) rows.push(row);
  }
  return rows;
}
