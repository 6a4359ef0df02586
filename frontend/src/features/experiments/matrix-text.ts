/**
 * Traffic matrices as text, by the rules of the flow files of `--workload`
 * (`backend/cubeyard/cli/workload.py`): text with two readings is refused, never guessed.
 */
import type { Json } from "@/shared/plans/spec";

export type Entry = [source: string, destination: string, weight: number];

const NAMES: Record<string, string> = {
  ...Object.fromEntries(["source", "src", "from", "sender"].map((name) => [name, "source"])),
  ...Object.fromEntries(
    ["destination", "dst", "dest", "to", "target", "receiver"].map((name) => [name, "destination"]),
  ),
  weight: "weight",
};
const COLUMNS = "The columns of a matrix are source, destination and weight";
const ORDER = ["source", "destination", "weight"];
const GROUPS = { ".": /^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?$/, ",": /^[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?$/ };
const PLAIN = {
  ".": /^(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i,
  ",": /^(?:\d+(?:,\d*)?|,\d+)(?:e[+-]?\d{1,3})?$/i,
};
type Mark = keyof typeof PLAIN;
const MARKS: readonly Mark[] = [".", ","];

interface Row {
  at: number;
  cells: string[];
}

/** Throws an Error that names the line. */
export function readMatrix(text: string): Entry[] {
  const lines = text
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\r|\n/)
    .map((line, at) => ({ line: line.trim() === "" ? "" : line, at: at + 1 }))
    .filter(({ line }) => line !== "" && !line.startsWith("#"));
  if (lines.length === 0) return [];
  const separator = separatorOf(lines[0]!.line);
  const rows = lines.map(({ line, at }): Row => ({ at, cells: cellsOf(line, separator) }));
  const first = rows[0]!;
  // Programs write commas, with a decimal point.
  const fallback = separator === "," ? "." : undefined;
  if (first.cells[0] === "" && first.cells.length > 1) return square(rows, fallback);
  const named = columnsOf(first);
  const body = named ? rows.slice(1) : rows;
  if (body.length === 0) throw new Error("There are only names of columns, and no flow below them.");
  const columns = named ?? ORDER;
  const places = ORDER.map((name) => columns.indexOf(name));
  const cell = ({ cells }: Row, column: number) => cells[places[column]!] ?? "";
  const weightOf = reader(
    body.map((row) => cell(row, 2)),
    fallback,
  );
  return body.map((row): Entry => {
    const { at, cells } = row;
    if (cells.length > columns.length)
      throw new Error(
        `Line ${at} has ${cells.length} cells, and a matrix ${columns.length} columns: ${COLUMNS}.`,
      );
    const [from, to, weight] = [cell(row, 0), cell(row, 1), cell(row, 2)];
    if (!from || !to)
      throw new Error(`Line ${at} needs a sender and a receiver: “${cells.join(" ").slice(0, 60)}”.`);
    return entry(at, from, to, weight === "" ? 1 : weightOf(at, weight));
  });
}

/** The names along the top are those down the side, after an empty first cell. */
function square(rows: Row[], fallback: Mark | undefined): Entry[] {
  const [top, ...body] = rows;
  const names = top!.cells.slice(1);
  if (body.map(({ cells }) => cells[0]).join("\n") !== names.join("\n"))
    throw new Error("The names down the side are not those along the top.");
  const weightOf = reader(
    body.flatMap(({ cells }) => cells.slice(1)),
    fallback,
  );
  const entries = body.flatMap(({ at, cells }) => {
    if (cells.length !== names.length + 1)
      throw new Error(`Line ${at} has ${cells.length - 1} weights for ${names.length} servers.`);
    return names.map((to, column): Entry => {
      const weight = cells[column + 1]!;
      return entry(at, cells[0]!, to, weight === "" || weight === "-" ? 0 : weightOf(at, weight));
    });
  });
  return entries.filter(([, , weight]) => weight > 0);
}

function entry(at: number, from: string, to: string, weight: number): Entry {
  if (from === to && weight > 0) throw new Error(`Line ${at} is a flow from ${from} to itself.`);
  return [from, to, weight];
}

/** Lines that `readMatrix` reads as these entries. */
export const matrixText = (entries: readonly Json[]): string =>
  entries.map((entry) => (Array.isArray(entry) ? entry.map(quoted).join(",") : "")).join("\n");

const quoted = (cell: Json): string => {
  const text = String(cell);
  return /[",;\t]|^#|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Of the file, by its first line: a tab before a semicolon, that before a comma. */
function separatorOf(line: string): string {
  const bare = line.replace(/"(?:[^"]|"")*"/g, "");
  return ["\t", ";"].find((separator) => bare.includes(separator)) ?? ",";
}

/** A name may hold the separator when it is quoted. */
function cellsOf(line: string, separator: string): string[] {
  const pattern = new RegExp(`[^\\S\t]*("(?:[^"]|"")*"|[^${separator}]*)[^\\S\t]*(${separator}|$)`, "y");
  const cells: string[] = [];
  for (let more = true; more; ) {
    const match = pattern.exec(line);
    const [, cell = line, end = ""] = match ?? [];
    cells.push(
      cell
        .trim()
        .replace(/^"(.*)"$/s, "$1")
        .replaceAll('""', '"'),
    );
    more = match !== null && end !== "";
  }
  while (cells.length > 3 && cells.at(-1) === "") cells.pop();
  return cells;
}

/** The columns of a header in any order; undefined if the line is none. */
function columnsOf({ at, cells }: Row): string[] | undefined {
  const columns = cells.map((cell) => NAMES[cell.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "")] ?? "");
  if (!columns.includes("source") || !columns.includes("destination")) return undefined;
  const unknown = cells.filter((_, place) => columns[place] === "");
  if (unknown.length > 0)
    throw new Error(
      `Line ${at}: “${unknown[0]!.slice(0, 40)}” is no column of a matrix. ${COLUMNS}; flows with sizes or starts are read by \`cubeyard predict --workload\`.`,
    );
  const twice = columns.find((column, place) => columns.indexOf(column) !== place);
  if (twice) throw new Error(`Line ${at} has the column ${twice} twice.`);
  return columns;
}

/** Reads numbers by the decimal mark that all of them together show. */
function reader(texts: readonly string[], fallback: Mark | undefined): (at: number, text: string) => number {
  const shown = new Set(
    texts.map(readings).flatMap((values) => (values.size === 1 ? [...values.keys()] : [])),
  );
  const mark = shown.size === 1 ? [...shown][0] : fallback;
  return (at, text) => {
    const values = readings(text);
    if (values.size === 0) throw new Error(`Line ${at} has the weight “${text}”. Type a number, 0 or more.`);
    const known = mark === undefined ? undefined : values.get(mark);
    if (known !== undefined) return known;
    const all = [...new Set(values.values())];
    if (all.length > 1)
      throw new Error(
        `Line ${at}: “${text}” is ${all.join(" or ")}, by its decimal mark. Write numbers without separators of thousands.`,
      );
    return all[0]!;
  };
}

function readings(given: string): Map<Mark, number> {
  const text = given.normalize("NFKC").trim();
  return new Map(
    MARKS.flatMap((mark): [Mark, number][] => {
      if (!PLAIN[mark].test(text) && !GROUPS[mark].test(text)) return [];
      const digits = text.replaceAll(mark === "." ? "," : ".", "").replace(",", ".");
      return Number.isFinite(Number(digits)) ? [[mark, Number(digits)]] : [];
    }),
  );
}
