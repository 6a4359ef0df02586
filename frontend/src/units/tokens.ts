/**
 * Colours, type sizes and the grid, in one place for canvas, SVG and CSS alike: a canvas cannot
 * read a style sheet cheaply, so the style sheet is made from these values (`cssVariables`) and not
 * the other way round.
 */

export type ThemeName = "light" | "dark";

export interface ThemeTokens {
  /** Page and canvas ground. */
  background: string;
  /** Side panels, table heads. */
  panel: string;
  /** Ground inside an enclosure, a matrix, a chart. */
  well: string;
  border: string;
  /** A stronger line: an enclosure's wall, an axis. */
  rule: string;
  grid: string;
  ink: string;
  muted: string;
  accent: string;
  /** Text on the accent colour. */
  onAccent: string;
  accentSoft: string;
  good: string;
  bad: string;
  warning: string;
  failed: string;
  server: string;
  serverEdge: string;
  rack: string;
  rackEdge: string;
  /** Colour of empty rack units. */
  vacant: string;
  selection: string;
  hover: string;
  /**
   * Switch level colours, for marks only, never for text. L0..L3 were found by search for colour
   * blindness.
   */
  levels: readonly string[];
}

export const LIGHT: ThemeTokens = {
  background: "#FFFFFF",
  panel: "#F7F9FB",
  well: "#F3F6F9",
  border: "#D5DCE4",
  rule: "#46505D",
  grid: "#E4E9EF",
  ink: "#10161F",
  muted: "#55606E",
  accent: "#1D4ED8",
  onAccent: "#FFFFFF",
  accentSoft: "#E3EBFD",
  good: "#0B6B3A",
  bad: "#B3001B",
  warning: "#8A5300",
  failed: "#B3001B",
  server: "#A9B5C2",
  serverEdge: "#8895A4",
  rack: "#E9EEF3",
  rackEdge: "#8C98A6",
  vacant: "#F6F8FA",
  selection: "#10161F",
  hover: "#1D4ED8",
  levels: ["#3A6C86", "#C37729", "#23A08F", "#432B4C", "#8C9A1F", "#A65A8C"],
};

export const DARK: ThemeTokens = {
  background: "#0F1318",
  panel: "#151A21",
  well: "#141920",
  border: "#2A323C",
  rule: "#8592A2",
  grid: "#222A33",
  ink: "#E8EDF3",
  muted: "#9DA9B7",
  accent: "#7FA9FF",
  onAccent: "#0B1220",
  accentSoft: "#1B2A47",
  good: "#5BD08F",
  bad: "#FF7B7F",
  warning: "#F0B95A",
  failed: "#FF5A5F",
  server: "#55616F",
  serverEdge: "#6E7B8A",
  rack: "#1D242D",
  rackEdge: "#566272",
  vacant: "#171D24",
  selection: "#FFFFFF",
  hover: "#7FA9FF",
  levels: ["#61BCEC", "#F5BB2C", "#15F9EC", "#B35AB7", "#FFFF9C", "#C8662E"],
};

export const THEMES: Readonly<Record<ThemeName, ThemeTokens>> = { light: LIGHT, dark: DARK };

/** Type sizes in CSS pixels; nothing on screen is set in another size. */
export const TYPE_PX = { tiny: 11, small: 12, body: 13, strong: 14, title: 18, display: 24 } as const;

/**
 * Only generic names: named faces are replaced differently on a canvas and on the page by some
 * systems.
 */
export const FONT_FAMILY = "system-ui, sans-serif";

export const GRID_PX = 4;

/**
 * Dash pattern of a level in CSS pixels: a second cue in addition to the colour. L0 is solid. After
 * the last pattern they repeat, like the colours, and the label ("L7") distinguishes them.
 */
const LEVEL_DASHES_PX: readonly (readonly number[])[] = [
  [],
  [7, 3],
  [2, 2.5],
  [9, 2.5, 2, 2.5],
  [4, 4],
  [12, 3, 2, 3, 2, 3],
];

export function levelDashPx(level: number): readonly number[] {
  return LEVEL_DASHES_PX[mod(level, LEVEL_DASHES_PX.length)] ?? [];
}

/** The level's colour in a theme; a negative level is a server. */
export function levelColour(theme: ThemeTokens, level: number): string {
  if (level < 0) return theme.server;
  return theme.levels[mod(level, theme.levels.length)] ?? theme.server;
}

export function levelShortLabel(level: number): string {
  return level < 0 ? "server" : `L${level}`;
}

function mod(value: number, by: number): number {
  return ((value % by) + by) % by;
}

/**
 * The theme as CSS custom properties: `background` is `--background`, `accentSoft` is
 * `--accent-soft`, `levels[2]` is `--level-2`.
 */
export function cssVariables(theme: ThemeTokens): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(theme)) {
    if (typeof value === "string")
      variables[`--${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`] = value;
  }
  theme.levels.forEach((colour, level) => {
    variables[`--level-${level}`] = colour;
  });
  return variables;
}

/** The same as text, for a `<style>` element or a printed page. */
export function cssBlock(selector: string, theme: ThemeTokens): string {
  const lines = Object.entries(cssVariables(theme)).map(([name, value]) => `  ${name}: ${value};`);
  return `${selector} {\n${lines.join("\n")}\n}\n`;
}
