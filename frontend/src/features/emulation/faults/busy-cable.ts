/** A cable whose loss shows: it carries traffic now, and both its ends have another one. */
import type { Tick } from "../session/frames";
import type { Item, Network } from "../session/network";

/** The busiest such cable of a tick, else the busiest of all; null while nothing flows. */
export function busyCable(
  { links, a, b, linksOf }: Network,
  { ab, ba }: Pick<Tick, "ab" | "ba">,
): Item | null {
  const carried = (link: number) => (ab[link] ?? 0) + (ba[link] ?? 0);
  const spared = (link: number) => [a[link]!, b[link]!].every((end) => (linksOf[end]?.length ?? 0) > 1);
  let best: number | null = null;
  for (let link = 0; link < links; link++) {
    if (carried(link) === 0) continue;
    const better =
      best === null ||
      Number(spared(link)) > Number(spared(best)) ||
      (spared(link) === spared(best) && carried(link) > carried(best));
    if (better) best = link;
  }
  return best === null ? null : { kind: "link", row: best };
}
