/** The state of a picture of the plan: zoom, and "N of M" links. */
import type { DisplayList, Highlight, ViewKind } from "@/scene";
import type { PaintStats } from "./stage";

export interface ViewInfo {
  zoomPercent: number;
  /** "N of M": drawn links, all links, and the counted kind. */
  drawn: number;
  total: number;
  what: string;
  stats: PaintStats;
}

/**
 * For a selection its cables; else the links drawn one by one, if there are any; else the count of
 * the list.
 */
export function viewInfo({
  highlight,
  list,
  stats,
  view,
  zoomPercent,
}: {
  highlight: Highlight | null;
  list: Pick<DisplayList, "drawn" | "total" | "what">;
  stats: PaintStats;
  view: ViewKind;
  zoomPercent: number;
}): ViewInfo {
  if (highlight)
    return {
      zoomPercent,
      drawn: highlight.cables.length,
      total: highlight.totalCables,
      what: highlight.kind === "cable" ? "cables" : `cables of ${highlight.label}`,
      stats,
    };
  const single = stats.links > 0;
  const drawn = single ? stats.links : list.drawn;
  return {
    zoomPercent,
    drawn,
    total: list.total,
    what: single ? (view === "logical" ? "links, one by one" : "cables, one by one") : list.what,
    stats,
  };
}
