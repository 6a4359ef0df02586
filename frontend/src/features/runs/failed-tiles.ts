import { FAILURE_WORDS, type Point, ratioText } from "@/shared/runs/run-points";
import { formatCount } from "@/units";
import type { Tile } from "./tiles";

/** The failed devices; a small share of a few is none. */
export function failedTiles({ kind, ratio, result: { failures } }: Point): Tile[] {
  const { servers, switches, links } = failures;
  const counts = [
    servers && `${formatCount(servers)} servers`,
    switches && `${formatCount(switches)} switches`,
    links && `${formatCount(links)} links`,
  ].filter(Boolean);
  if (counts.length > 0) return [{ name: "Failed", value: counts.join(", ") }];
  if (kind === null || ratio === 0) return [];
  return [
    {
      name: "Failed",
      value: "none",
      note: ` ${ratioText(ratio)} of these ${FAILURE_WORDS[kind]} is none`,
    },
  ];
}
