/**
 * Where the logical view puts every server and switch: a function of names and links only, the same
 * every time.
 */
import { type Box, memoised, type PlanModel } from "../model";
import { bcubeLayout } from "./bcube";
import { dragonflyLayout, jellyfishLayout } from "./clusters";
import { dcellLayout } from "./dcell";
import { layeredLayout } from "./layered";
import { torusLayout } from "./torus";

export interface LogicalGroup {
  label: string;
  box: Box;
  /** The style of its box: a block of servers, a row of switches of one level, or only a region. */
  level: number;
  round?: boolean;
}

/** A trunk drawn along a fixed way instead of from group to group. */
export interface Bus {
  level: number;
  points: readonly number[];
  label: string;
  /** The number of links that it represents. */
  cables: number;
}

export interface LogicalLayout {
  /** Centre of each device. */
  x: Float32Array;
  y: Float32Array;
  nodeWidth: number;
  nodeHeight: number;
  /** Height of switches, when they are drawn taller than servers. */
  switchHeight: number;
  groups: readonly LogicalGroup[];
  groupOf: Int32Array;
  buses: readonly Bus[];
  /** "arc" bows a line sideways, "flow" runs from the lower node up to the upper one. */
  link: "arc" | "flow";
  /** Links no longer than this are drawn instead of trunks: the pattern itself is the overview. */
  latticeReach?: number;
  /** All links are drawn instead of trunks: no parts of the network stand out. */
  allLinks?: boolean;
  /** Room left of the tiers for their names, in a picture with tiers. */
  gutter?: number;
  bounds: Box;
}

export function logicalLayout(model: PlanModel): LogicalLayout {
  return memoised(model, "logical-layout", () => {
    const family = model.topology?.family;
    const special =
      family === "bcube"
        ? bcubeLayout(model)
        : family === "dcell"
          ? dcellLayout(model)
          : family === "torus3d" || family === "torus2d"
            ? torusLayout(model)
            : family === "dragonfly"
              ? dragonflyLayout(model)
              : family === "jellyfish"
                ? jellyfishLayout(model)
                : null;
    return special ?? layeredLayout(model);
  });
}
