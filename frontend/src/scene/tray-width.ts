/** How wide trays are drawn: by their cables, the fullest as wide as the aisle allows [ours]. */
import { memoised, type PlanModel } from "./model";

const MAX_WIDTH_METRES = 0.3;
/** Share of the narrowest gap between two rows that one tray may take. */
const GAP_SHARE = 0.28;
/**
 * Share of a rack's depth: a tray over the racks leaves room for the rack's name above it and its
 * value below.
 */
const DEPTH_SHARE = 0.3;

/** Drawn width of the fullest tray. */
export function trayWidthMetres(model: PlanModel): number {
  return memoised(model, "tray-width", () => {
    const bands = model.rows
      .map((row) => {
        let [top, bottom] = [Infinity, -Infinity];
        for (const rack of row) {
          top = Math.min(top, model.racks.y[rack]! - model.racks.depth[rack]! / 2);
          bottom = Math.max(bottom, model.racks.y[rack]! + model.racks.depth[rack]! / 2);
        }
        return { top, bottom };
      })
      .sort((a, b) => a.top - b.top);
    let gap = Infinity;
    for (let i = 1; i < bands.length; i++) {
      const free = bands[i]!.top - bands[i - 1]!.bottom;
      if (free > 0.2) gap = Math.min(gap, free);
    }
    const depth = model.racks.depth.reduce((least, d) => Math.min(least, d), Infinity);
    return Math.min(MAX_WIDTH_METRES, gap * GAP_SHARE, depth * DEPTH_SHARE);
  });
}

export function peakTrayCables(model: PlanModel): number {
  return memoised(model, "peak-tray-cables", () => Math.max(1, ...model.scene.trays.cables));
}
