/**
 * The route of a bundle over the trays, as the engine planned it: nothing here looks for a route.
 */
import type { PlanModel } from "./model";

/** Trays of a bundle, from its first rack to its second. */
export function traysOfBundle(model: PlanModel, bundle: number): number[] {
  const trays: number[] = [];
  for (const { first, past } of runsOf(model, bundle))
    for (let tray = first; tray !== past; tray += Math.sign(past - first)) trays.push(tray);
  return trays;
}

function runsOf(model: PlanModel, bundle: number): { first: number; past: number }[] {
  return (model.scene.bundles.tray_runs[bundle] ?? []).map((run) => ({ first: run[0]!, past: run[1]! }));
}

/** Bundles over each tray. */
export function bundlesByTray(model: PlanModel): number[][] {
  const lists: number[][] = Array.from({ length: model.trayCount }, () => []);
  for (let bundle = 0; bundle < model.bundleCount; bundle++)
    for (const tray of traysOfBundle(model, bundle)) lists[tray]!.push(bundle);
  return lists;
}

/** Where a rack's cables join the trays; null when the plan has no trays. */
export function trayTap(model: PlanModel, rack: number): [x: number, y: number] | null {
  if (model.trayCount === 0) return null;
  const { tray_x_metres, tray_y_metres } = model.scene.racks;
  return [tray_x_metres[rack]!, tray_y_metres[rack]!];
}

/**
 * x, y pairs from the tap of the bundle's first rack to that of its second, corners only; null
 * without trays.
 */
export function bundleRoute(model: PlanModel, bundle: number): number[] | null {
  const from = trayTap(model, model.bundleA[bundle]!);
  const to = trayTap(model, model.bundleB[bundle]!);
  if (!from || !to) return null;
  const { x0_metres, y0_metres, x1_metres, y1_metres } = model.scene.trays;
  const points: [number, number][] = [from];
  for (const { first, past } of runsOf(model, bundle))
    if (past > first)
      points.push([x0_metres[first]!, y0_metres[first]!], [x1_metres[past - 1]!, y1_metres[past - 1]!]);
    else points.push([x1_metres[first]!, y1_metres[first]!], [x0_metres[past + 1]!, y0_metres[past + 1]!]);
  points.push(to);
  return corners(points);
}

/** Without points that lie on the straight line between their neighbours. */
function corners(points: readonly [number, number][]): number[] {
  const kept: [number, number][] = [];
  for (const point of points) {
    const [last, before] = [kept.at(-1), kept.at(-2)];
    if (last && near(last, point)) continue;
    if (last && before && straight(before, last, point)) kept.pop();
    kept.push(point);
  }
  return kept.flat();
}

const near = ([xa, ya]: [number, number], [xb, yb]: [number, number]) =>
  Math.abs(xa - xb) + Math.abs(ya - yb) < 1e-6;

function straight(a: [number, number], b: [number, number], c: [number, number]): boolean {
  const [ux, uy, vx, vy] = [b[0] - a[0], b[1] - a[1], c[0] - b[0], c[1] - b[1]];
  return Math.abs(ux * vy - uy * vx) < 1e-9 && ux * vx + uy * vy > 0;
}
