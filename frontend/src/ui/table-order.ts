/**
 * The order of a table's rows, apart from how they are drawn. Rows are numbers: indices into
 * columns.
 */

export interface SortBy {
  column: string;
  descending: boolean;
}

export type SortKey = number | string | null;

/**
 * `rows` ordered by `key`, ties kept in their given order, nulls last in either direction. Strings
 * compare by code unit after splitting digits, so that `R2` sorts before `R10`.
 */
export function orderRows(
  rows: readonly number[],
  key: (row: number) => SortKey,
  descending: boolean,
): number[] {
  const keyed = rows.map((row, at) => ({ row, at, key: key(row) }));
  const sign = descending ? -1 : 1;
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) {
      if (a.key === b.key) return a.at - b.at;
      return a.key === null ? 1 : -1;
    }
    const order =
      typeof a.key === "number" && typeof b.key === "number"
        ? a.key - b.key
        : natural(String(a.key), String(b.key));
    return order !== 0 ? sign * order : a.at - b.at;
  });
  return keyed.map((entry) => entry.row);
}

/** Compares texts with numbers in them the way a person sorts them. */
export function natural(a: string, b: string): number {
  const left = a.match(/\d+|\D+/g) ?? [];
  const right = b.match(/\d+|\D+/g) ?? [];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const x = left[at]!;
    const y = right[at]!;
    if (x === y) continue;
    const dx = /^\d/.test(x);
    const dy = /^\d/.test(y);
    if (dx && dy) {
      const difference = Number(x) - Number(y);
      if (difference !== 0) return difference;
      return x.length - y.length;
    }
    return x < y ? -1 : 1;
  }
  return left.length - right.length;
}

/** RFC 4180, with a leading apostrophe before a text a spreadsheet would run as a formula. */
export function csvOf(header: readonly string[], rows: Iterable<readonly string[]>): string {
  const cell = (text: string) => {
    const safe = /^[=+@\t\r]|^-(?![\d.])/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = [header.map(cell).join(",")];
  for (const row of rows) lines.push(row.map(cell).join(","));
  return `${lines.join("\r\n")}\r\n`;
}
