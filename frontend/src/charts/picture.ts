/**
 * A chart's SVG element as a file: a complete SVG with title and provenance, or a PNG.
 */
import { FONT_FAMILY, THEMES, type ThemeName } from "@/units";

const FOOT_PX = 22;
const HEAD_PX = 26;

export function standaloneSvg(
  svg: SVGSVGElement,
  title: string,
  provenance: string,
  theme: ThemeName,
): string {
  const tokens = THEMES[theme];
  const width = svg.viewBox.baseVal.width || svg.clientWidth;
  const height = svg.viewBox.baseVal.height || svg.clientHeight;
  const copy = svg.cloneNode(true) as SVGSVGElement;
  for (const live of copy.querySelectorAll("[data-live]")) live.remove();
  const text = (value: string) => value.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const total = height + FOOT_PX + HEAD_PX;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${total}" viewBox="0 0 ${width} ${total}" font-family="${FONT_FAMILY}">`,
    `<rect width="${width}" height="${total}" fill="${tokens.background}"/>`,
    `<text x="8" y="18" font-size="13" font-weight="600" fill="${tokens.ink}">${text(title)}</text>`,
    `<g transform="translate(0 ${HEAD_PX})">${copy.innerHTML}</g>`,
    `<text x="8" y="${total - 8}" font-size="11" fill="${tokens.muted}">${text(provenance)}</text>`,
    "</svg>",
  ].join("\n");
}

export async function svgToPng(svg: string, ratio = 2): Promise<Blob> {
  const size = /width="([\d.]+)" height="([\d.]+)"/.exec(svg);
  if (!size) throw new Error("The chart is not drawn yet.");
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(Number(size[1]) * ratio);
    canvas.height = Math.round(Number(size[2]) * ratio);
    const context = canvas.getContext("2d");
    if (!context) throw new Error("This browser cannot draw pictures (no 2D canvas).");
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob(
        (blob) => (blob ? resolve(blob) : reject(new Error("The chart could not be encoded."))),
        "image/png",
      );
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}
