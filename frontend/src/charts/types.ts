/** What every chart needs beside its data. */
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
  /** Plan hash, seed, engine and version, modelled or measured: printed below the chart and in its files. */
  provenance: string;
  /** Name of exported files without extension. */
  fileName?: string;
  height?: number;
}

export interface Point {
  x: number;
  y: number;
}
