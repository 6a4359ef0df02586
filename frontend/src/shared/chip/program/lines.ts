/**
 * Places from and behind a line's text in a program, lines from 1; the program's end for one that
 * it does not have.
 */
export function lineRange(text: string, line: number): [number, number] {
  let from = 0;
  for (let at = 1; at < line; at++) {
    const end = text.indexOf("\n", from);
    if (end < 0) return [text.length, text.length];
    from = end + 1;
  }
  const end = text.indexOf("\n", from);
  return [from, end < 0 ? text.length : end];
}
