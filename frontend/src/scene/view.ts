/** The settings of the view, which are independent of the plan. */
import type { LinkHeat } from "./heat";

export type ViewKind = "floor" | "elevations" | "logical" | "matrix" | "3d";
export type ColourBy = "power" | "weight" | "units" | "cables" | "group";
export type LinksMode = "trunk" | "sel" | "all";
export type Face = "front" | "rear";

export interface ViewOptions {
  colourBy: ColourBy;
  linksMode: LinksMode;
  /** Racks of the elevations, in order; all of them when absent. */
  racks?: readonly number[];
  face?: Face;
  /** Width over height of the place where the view is shown: views that may wrap choose by it. */
  aspect?: number;
  /**
   * Links by what they carry, one by one, instead of by level; racks and devices step back. Floor
   * and logical view.
   */
  heat?: LinkHeat;
  /** Turn and tilt of the 3D view, in degrees. */
  orbit?: { turn: number; tilt: number };
}

export const VIEW_TITLES: Readonly<Record<ViewKind, string>> = {
  floor: "Floor plan",
  elevations: "Rack elevations",
  logical: "Logical view",
  matrix: "Rack matrix",
  "3d": "3D view",
};

export const COLOUR_BY_TITLES: Readonly<Record<ColourBy, string>> = {
  power: "Power",
  weight: "Weight",
  units: "Units used",
  cables: "Cables leaving",
  group: "Group",
};

/** At most this number of single cables is drawn; the count shows if there are more. */
export const MAX_SINGLE_LINES = 30_000;
