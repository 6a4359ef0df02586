/**
 * Colour arithmetic on `#RRGGBB`: mixing, WCAG contrast, and the one sequential ramp of the house.
 */

export type Rgb = readonly [red: number, green: number, blue: number];

/**
 * `#RGB` or `#RRGGBB` to 0..255 channels. Throws on anything else, as a wrong token is our own
 * mistake.
 */
export function parseHex(hex: string): Rgb {
  const long = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(hex);
  if (long) return [channel(long[1]), channel(long[2]), channel(long[3])];
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(hex);
  if (short)
    return [
      channel(`${short[1]}${short[1]}`),
      channel(`${short[2]}${short[2]}`),
      channel(`${short[3]}${short[3]}`),
    ];
  throw new Error(`"${hex}" is not a #RRGGBB colour`);
}

function channel(text: string | undefined): number {
  return Number.parseInt(text ?? "0", 16);
}

export function toHex(rgb: Rgb): string {
  return `#${rgb
    .map((c) =>
      Math.max(0, Math.min(255, Math.round(c)))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

/** `share` of `b` in `a`, in sRGB: 0 is `a`, 1 is `b`. */
export function mix(a: string, b: string, share: number): string {
  const [ar, ag, ab] = parseHex(a);
  const [br, bg, bb] = parseHex(b);
  return toHex([ar + (br - ar) * share, ag + (bg - ag) * share, ab + (bb - ab) * share]);
}

export function withAlpha(hex: string, alpha: number): string {
  if (alpha >= 1) return hex;
  const [red, green, blue] = parseHex(hex);
  return `rgba(${red},${green},${blue},${Math.round(alpha * 1000) / 1000})`;
}

/** Relative luminance, 0..1 [WCAG 2.2 §1.4.3]. */
export function luminance(hex: string): number {
  const [red, green, blue] = parseHex(hex).map((c) => {
    const share = c / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

/** Contrast ratio of two colours, 1..21. */
export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/**
 * Black or white, depending on which is more readable on `ground`; the contrast is at least 4.5 to
 * 1 on any ground.
 */
export function inkOn(ground: string): string {
  return contrast("#000000", ground) >= contrast("#FFFFFF", ground) ? "#000000" : "#FFFFFF";
}

/**
 * Cividis (Nunez, Anderton, Renslow 2018), readable with any colour vision and in grey, by the
 * polynomial fit that d3-scale-chromatic uses; taken over rather than a package for one function.
 */
function cividis(t: number): string {
  return toHex([
    -4.54 - t * (35.34 - t * (2381.73 - t * (6402.7 - t * (7024.72 - t * 2710.57)))),
    32.49 + t * (170.73 + t * (52.82 - t * (131.46 - t * (176.58 - t * 67.37)))),
    81.24 + t * (442.36 - t * (2482.43 - t * (6167.24 - t * (6614.94 - t * 2475.67)))),
  ]);
}

/** Steps a ramp is quantised to, so that a painter sets few colours. */
export const RAMP_STEPS = 64;

const RAMP: readonly string[] = Array.from({ length: RAMP_STEPS }, (_, i) => cividis(i / (RAMP_STEPS - 1)));

/** The step, 0..RAMP_STEPS-1, of a share 0..1. A share that is not a number is the lowest step. */
export function rampStep(share: number): number {
  if (!(share > 0)) return 0;
  return Math.min(RAMP_STEPS - 1, Math.floor(share * RAMP_STEPS));
}

export function rampColour(step: number): string {
  return RAMP[Math.max(0, Math.min(RAMP_STEPS - 1, step))]!;
}
