/**
 * Columns as CSV [RFC 4180]: CRLF, quotes where needed, numbers in full precision with a dot. The
 * provenance is a column: with a line of another shape, readers of tables fail, or read numbers as
 * text.
 */
import type { ChartColumn } from "./types";

export function toCsv(columns: readonly ChartColumn[], provenance = ""): string {
  const rows = Math.max(0, ...columns.map((column) => column.values.length));
  const source: ChartColumn = { header: "source", values: Array<string>(rows).fill(provenance) };
  const all = provenance ? [...columns, source] : columns;
  const lines = [all.map((column) => field(column.header)).join(",")];
  for (let row = 0; row < rows; row++)
    lines.push(all.map((column) => field(column.values[row] ?? null)).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function field(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  // A leading =, +, - or @ would run as a formula in a spreadsheet.
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
