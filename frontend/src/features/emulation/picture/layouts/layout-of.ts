/**
 * Chooses the layout of the logical view: the engine reports the arrangement of the network, and
 * each arrangement has a module.
 */
import type { NetworkFrame } from "../../session/frames";
import type { Network } from "../../session/network";
import type { Layout } from "./layout";
import { planesLayoutOf } from "./planes";
import { ringsLayoutOf } from "./rings";
import { rowsLayoutOf, tiersLayoutOf } from "./rows";

type Picture = NonNullable<NetworkFrame["picture"]>;

const LAYOUTS: Readonly<Record<Picture, (network: Network, width: number, height: number) => Layout>> = {
  rows: rowsLayoutOf,
  rings: ringsLayoutOf,
  planes: planesLayoutOf,
  tiers: tiersLayoutOf,
};

/** Runs recorded before frames named their picture have their switches in tiers. */
export const layoutOf = (network: Network, width: number, height: number): Layout =>
  LAYOUTS[network.frame.picture ?? "tiers"](network, width, height);
