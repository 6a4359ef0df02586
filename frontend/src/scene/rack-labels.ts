/**
 * Name and value of a rack on the floor: around the tray that runs over it, or below each other.
 */
import type { ColourScale } from "./encoding";
import type { Box, PlanModel } from "./model";
import { type Batch, type ColourRef, LabelBuilder } from "./primitives";
import { trayTap } from "./tray-routes";
import { trayWidthMetres } from "./tray-width";

/** The value in full and, after the tab, the shorter form for a narrow rack. */
export function scaleText(scale: ColourScale, rack: number): string {
  return `${scale.text(rack)}\t${scale.short(rack)}`;
}

export class RackLabels {
  private readonly stackedNames = new LabelBuilder();
  private readonly stackedValues = new LabelBuilder();
  private readonly splitNames = new LabelBuilder();
  private readonly splitValues = new LabelBuilder();

  constructor(
    private readonly model: PlanModel,
    /** Single cables run below the labels, which then need a halo. */
    private readonly overLines = false,
  ) {}

  add(rack: number, value: string, ink: ColourRef): void {
    const full = this.model.racks.names[rack] ?? "";
    // A narrow rack shows its number alone.
    const number = full.replace(/^\D+/, "");
    const name = number && number !== full ? `${full}\t${number}` : full;
    const places = labelPlaces(this.model, rack);
    const x = places.whole.x + places.whole.width / 2;
    const space = places.whole.width * 0.9;
    if (places.split) {
      const { above, below } = places.split;
      this.splitNames.add(name, x, above.y + above.height / 2, ink, space, above.height);
      if (value) this.splitValues.add(value, x, below.y + below.height / 2, ink, space, below.height);
      return;
    }
    const { y, height } = places.whole;
    this.stackedNames.add(name, x, y + height / 2, ink, space, height);
    if (value) this.stackedValues.add(value, x, y + height / 2, ink, space, height / 2);
  }

  batches(): Batch[] {
    const halo = this.overLines ? ("contrast" as const) : undefined;
    return [
      this.stackedNames.batch({
        sizePx: 12,
        weight: 600,
        align: "center",
        baseline: "bottom",
        offsetPx: [0, -1],
      }),
      this.stackedValues.batch({ sizePx: 11, align: "center", baseline: "top", halo, offsetPx: [0, 2] }),
      this.splitNames.batch({ sizePx: 12, weight: 600, align: "center", baseline: "middle", halo }),
      this.splitValues.batch({ sizePx: 11, align: "center", baseline: "middle", halo }),
    ];
  }
}

/** The free part of a rack's box, or the two parts a tray leaves of it. */
function labelPlaces(
  model: PlanModel,
  rack: number,
): { whole: Box; split: { above: Box; below: Box } | null } {
  const { x, y, width, depth } = model.racks;
  const [w, h] = [width[rack]!, depth[rack]!];
  const whole: Box = { x: x[rack]! - w / 2, y: y[rack]! - h / 2, width: w, height: h };
  const tap = trayTap(model, rack);
  const half = trayWidthMetres(model) / 2;
  if (!tap || tap[1] + half <= whole.y || tap[1] - half >= whole.y + h) return { whole, split: null };
  const above = { ...whole, height: tap[1] - half - whole.y };
  const below = { ...whole, y: tap[1] + half, height: whole.y + h - tap[1] - half };
  if (Math.min(above.height, below.height) >= h * 0.25) return { whole, split: { above, below } };
  return { whole: above.height >= below.height ? above : below, split: null };
}
