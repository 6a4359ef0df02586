/**
 * Fits a label into its space; the same rule for canvas and SVG, with different measures of width.
 */

export type Measure = (text: string, sizePx: number, weight: number) => number;

/**
 * Text of a label that may be "long\tshorter\tshortest": the first form that fits `room`, else,
 * with `ellipsis`, the last form cut; null when nothing fits.
 */
export function fitText(
  text: string,
  roomPx: number,
  sizePx: number,
  weight: number,
  overflow: "hide" | "ellipsis",
  measure: Measure,
): string | null {
  if (text === "") return null;
  if (!text.includes("\t") && roomPx === Infinity) return text;
  const forms = text.split("\t");
  for (const form of forms) if (measure(form, sizePx, weight) <= roomPx) return form;
  if (overflow === "hide") return null;
  const last = forms[forms.length - 1]!;
  for (let length = last.length - 1; length >= 2; length--) {
    const cut = `${last.slice(0, length)}\u2026`;
    if (measure(cut, sizePx, weight) <= roomPx) return cut;
  }
  return null;
}

/**
 * Estimates the width of text in usual sans-serif faces without a canvas: em widths by class of
 * character.
 */
export const estimateWidth: Measure = (text, sizePx, weight) => {
  let em = 0;
  for (const c of text) {
    if (/[.,:;'|il\u00a0 !]/.test(c)) em += 0.3;
    else if (/[frtIj()[\]<>\-/]/.test(c)) em += 0.42;
    else if (/[mwMW%]/.test(c)) em += 0.88;
    else if (/[A-Z]/.test(c)) em += 0.68;
    else em += 0.58;
  }
  return em * sizePx * (weight >= 600 ? 1.06 : 1);
};
