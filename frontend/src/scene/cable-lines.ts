/**
 * Single cables on the floor: each from its rack, along the trays in a separate lane, to the other
 * rack. The lane of a cable is the same in every picture, independent of other drawn cables [ours].
 */
import { cableRacks, memoised, type PlanModel } from "./model";
import { type PathBatch, PathBuilder } from "./primitives";
import { type LineStyle, levelStyle } from "./strokes";
import { bundleRoute, trayTap } from "./tray-routes";
import { trayWidthMetres } from "./tray-width";
import { MAX_SINGLE_LINES } from "./view";

/** Share of the rack's width over which its cables leave. */
const LEAVING_SHARE = 0.7;

/** Cables that leave their rack, ordered by level: their place in it is their lane. */
export function leavingCables(model: PlanModel): Uint32Array {
  return memoised(model, "leaving-cables", () => {
    const ids: number[] = [];
    for (let cable = 0; cable < model.cables.count; cable++) {
      const [a, b] = cableRacks(model, cable);
      if (a !== b) ids.push(cable);
    }
    const level = model.cables.level;
    return Uint32Array.from(ids.sort((a, b) => level[a]! - level[b]! || a - b));
  });
}

function lanes(model: PlanModel): Float32Array {
  return memoised(model, "cable-lanes", () => {
    const lane = new Float32Array(model.cables.count);
    const leaving = leavingCables(model);
    leaving.forEach((cable, place) => {
      lane[cable] = (place + 0.5) / leaving.length - 0.5;
    });
    return lane;
  });
}

export interface CableLines {
  batch: PathBatch;
  /** Cables in `batch`, in its order. */
  cables: Uint32Array;
}

/** Lines of those of `cables` that leave their rack, at most `MAX_SINGLE_LINES`. */
export function cableLines(
  model: PlanModel,
  cables: ArrayLike<number>,
  options: { style?: LineStyle; widthPx?: number; alpha?: number; minScale?: number } = {},
): CableLines {
  const style = options.style ?? levelStyle(model, options.widthPx ?? 1);
  const builder = new PathBuilder();
  const drawn: number[] = [];
  for (let i = 0; i < cables.length && drawn.length < MAX_SINGLE_LINES; i++) {
    const cable = cables[i]!;
    const [a, b] = cableRacks(model, cable);
    if (a === b) continue;
    builder.add(style.of(cable), ...cablePathOf(model, cable));
    drawn.push(cable);
  }
  return {
    batch: builder.batch(style.strokes, {
      alpha: options.alpha,
      minScale: options.minScale,
      counted: true,
    }),
    cables: Uint32Array.from(drawn),
  };
}

/** x, y pairs of a cable that leaves its rack, in the lane that it has in every picture. */
export function cablePathOf(model: PlanModel, cable: number): number[] {
  return bundlePath(model, model.cables.bundle[cable]!, lanes(model)[cable]!, trayWidthMetres(model));
}

/** x, y pairs of a cable of a bundle; `lane` is its place across the tray, -0.5..0.5. */
export function bundlePath(model: PlanModel, bundle: number, lane: number, width: number): number[] {
  const [a, b] = [model.bundleA[bundle]!, model.bundleB[bundle]!];
  const points = bundleRoute(model, bundle);
  if (!points) {
    const { x, y } = model.racks;
    return [x[a]!, y[a]!, x[b]!, y[a]!, x[b]!, y[b]!];
  }
  const shift = lane * width;
  const path: number[] = [];
  const last = points.length - 2;
  const [xa, xb] = [leavingX(model, a, lane), leavingX(model, b, lane)];
  pushEdge(path, model, a, xa);
  if (last <= 0) {
    path.push(xa, points[1]! + shift, xb, points[1]! + shift);
  } else {
    for (let i = 0; i <= last; i += 2) {
      const [x, y] = [points[i]!, points[i + 1]!];
      const along = (j: number) => j >= 0 && j <= last && Math.abs(points[j + 1]! - y) < 1e-9;
      const across = (j: number) => j >= 0 && j <= last && Math.abs(points[j]! - x) < 1e-9;
      const horizontal = along(i - 2) || along(i + 2);
      const vertical = across(i - 2) || across(i + 2);
      if (i === 0) path.push(horizontal ? xa : x + shift, horizontal ? y + shift : y);
      else if (i === last) path.push(horizontal ? xb : x + shift, horizontal ? y + shift : y);
      else path.push(vertical ? x + shift : x, horizontal ? y + shift : y);
    }
  }
  const edge: number[] = [];
  pushEdge(edge, model, b, xb);
  path.push(...edge);
  return path;
}

function leavingX(model: PlanModel, rack: number, lane: number): number {
  return model.racks.x[rack]! + lane * model.racks.width[rack]! * LEAVING_SHARE;
}

/** The point of the rack's edge that faces its tray; none when the tray runs over the rack. */
function pushEdge(path: number[], model: PlanModel, rack: number, x: number): void {
  const tap = trayTap(model, rack);
  const y = model.racks.y[rack]!;
  const half = model.racks.depth[rack]! / 2;
  if (tap && Math.abs(tap[1] - y) > half) path.push(x, y + Math.sign(tap[1] - y) * half);
}
