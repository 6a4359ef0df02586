/** Physical constants of racks and cables. SI inside; conversion only on display. */

/** Height of one rack unit [EIA-310-D]. */
export const RACK_UNIT_METRES = 0.04445;
export const MM_PER_METRE = 1000;
export const BITS_PER_GBIT = 1e9;
/** A rack drawn without a given width or depth is this wide and deep. */
export const DEFAULT_RACK_WIDTH_METRES = 0.6;
export const DEFAULT_RACK_DEPTH_METRES = 1.0;
/** Shown in place of an unknown value. */
export const UNKNOWN = "\u2013";
/** The true minus sign: as wide as a digit in tabular numerals, unlike the hyphen. */
export const MINUS = "\u2212";
/** A space that neither breaks nor stretches, between number and unit. */
export const THIN_GAP = "\u00a0";
