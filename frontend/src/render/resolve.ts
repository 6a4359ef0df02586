/** Converts names of colours to values of a theme. */
import type { ColourRef, TokenName } from "@/scene";
import {
  inkOn,
  levelColour,
  mix,
  RAMP_STEPS,
  rampColour,
  THEMES,
  type ThemeName,
  type ThemeTokens,
} from "@/units";

export interface Palette {
  tokens: ThemeTokens;
  colour(ref: ColourRef): string;
  /**
   * The colour darkened (light theme) or dimmed (dark theme) by `shade` 0..1, for sides of solids.
   */
  shaded(ref: ColourRef, shade: number): string;
}

/**
 * On a light background larger values are darker, on a dark background lighter. Low values are
 * faint, so that racks do not distract from the level colours drawn on them.
 */
function rampOf(theme: ThemeName, tokens: ThemeTokens, step: number): string {
  const share = step / (RAMP_STEPS - 1);
  const colour = rampColour(theme === "light" ? RAMP_STEPS - 1 - step : step);
  return mix(tokens.background, colour, theme === "light" ? 0.32 + 0.43 * share : 0.55 + 0.12 * share);
}

/** The ends of the ramp that would not stand out from a light or dark background are left out. */
const HEAT_SHARE = { light: 0.86, dark: 0.8 } as const;

/** Larger values differ more from the background, at full strength: for lines. */
function heatOf(theme: ThemeName, step: number): string {
  const share = (step / (RAMP_STEPS - 1)) * HEAT_SHARE[theme] + (1 - HEAT_SHARE[theme]);
  const at = Math.round(share * (RAMP_STEPS - 1));
  return rampColour(theme === "light" ? RAMP_STEPS - 1 - at : at);
}

const PALETTES = new Map<ThemeName, Palette>();

export function paletteOf(theme: ThemeName): Palette {
  const known = PALETTES.get(theme);
  if (known) return known;
  const tokens = THEMES[theme];
  const cache = new Map<ColourRef, string>();
  const resolve = (ref: ColourRef): string => {
    const colon = ref.indexOf(":");
    if (colon < 0) return tokens[ref as TokenName];
    const number = Number(ref.slice(colon + 1));
    switch (ref.slice(0, colon)) {
      case "level":
        return levelColour(tokens, number);
      case "onlevel":
        return inkOn(levelColour(tokens, number));
      case "heat":
        return heatOf(theme, number);
      case "onheat":
        return inkOn(heatOf(theme, number));
      case "ramp":
        return rampOf(theme, tokens, number);
      default:
        return inkOn(rampOf(theme, tokens, number));
    }
  };
  const colour = (ref: ColourRef): string => {
    let value = cache.get(ref);
    if (value === undefined) {
      value = resolve(ref);
      cache.set(ref, value);
    }
    return value;
  };
  const shades = new Map<string, string>();
  const shaded = (ref: ColourRef, shade: number): string => {
    if (shade <= 0) return colour(ref);
    const key = `${ref}@${shade}`;
    let value = shades.get(key);
    if (value === undefined) {
      value = mix(colour(ref), "#000000", shade);
      shades.set(key, value);
    }
    return value;
  };
  const palette = { tokens, colour, shaded };
  PALETTES.set(theme, palette);
  return palette;
}
