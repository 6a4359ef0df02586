/** The place of the first open cable from `from` on, going round once; null if none is open. */
export function nextOpen(
  list: readonly number[],
  from: number,
  isOpen: (cable: number) => boolean,
): number | null {
  for (let step = 0; step < list.length; step++) {
    const at = (from + step) % list.length;
    if (isOpen(list[at]!)) return at;
  }
  return null;
}
