/** The text of a chosen or dropped file of any program. */

const MARKS: readonly (readonly [string, readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];

/** By its byte order mark, by the zero bytes of UTF-16 without one, or null. */
function encodingOf(bytes: Uint8Array): string | null {
  const marked = MARKS.find(([, mark]) => mark.every((byte, i) => bytes[i] === byte));
  if (marked) return marked[0];
  const [first, second] = bytes;
  if (bytes.length < 2 || (first === 0) === (second === 0)) return null;
  return first === 0 ? "utf-16be" : "utf-16le";
}

/**
 * UTF-8 and UTF-16, with or without a byte order mark, which is not part of the text; any other
 * file as Windows-1252, the encoding of most programs that do not write Unicode.
 */
export async function textOf(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const encoding = encodingOf(bytes);
  if (encoding) return new TextDecoder(encoding).decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
