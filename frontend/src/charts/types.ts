/** The properties of every chart in addition to its data. */
import type { ThemeName } from "@/units";

export interface ChartColumn {
  header: string;
  values: readonly (string | number | null)[];
  /** Shown in the table; the CSV keeps the bare value. */
  format?: (value: number) => string;
}

export interface ChartCommon {
  title: string;
  theme: ThemeName;
  /**
   * Plan hash, seed, engine and version, modelled or measured: printed below the chart and in its
   * files.
   */
  provenance: string;
  /** Name of exported files without extension. */
  fileName?: string;
  height?: number;
}

export interface Point {
  x: number;
  y: number;
  /** Values between the previous point and this one are missing: no line joins the two. */
  gap?: boolean;
}

export interface LineSeries {
  id: string;
  label: string;
  /** Points, ascending in x. */
  points: readonly Point[];
  /** Uncertainty around each point. */
  band?: readonly { x: number; low: number; high: number }[];
  /** Values of a paper or a prediction: open points without a line. */
  pointsOnly?: boolean;
  /** Each value holds until the next one. */
  steps?: boolean;
  /** Index of its look; its position among the series when absent. */
  look?: number;
}

export interface LineChartProps extends ChartCommon {
  series: readonly LineSeries[];
  xLabel: string;
  yLabel: string;
  xFormat?: (value: number) => string;
  yFormat?: (value: number) => string;
  /** Format at the axis, whose label has the unit already; like `yFormat` when absent. */
  yTick?: (value: number) => string;
  /** Approximate number of ticks along x; derived from the width if absent. */
  xTicks?: number;
  /** Derived from the data and zero when absent. */
  yDomain?: readonly [number, number];
  xDomain?: readonly [number, number];
  /** Faults and other events on the x axis. */
  markers?: readonly { x: number; label: string }[];
  /** Crosshair shared with other charts; the chart has a separate one when absent. */
  at?: number | null;
  onAt?: (x: number | null) => void;
}
