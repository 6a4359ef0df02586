import type { PlanModel } from "./model";
import type { ColourRef, LabelBuilder } from "./primitives";

/** The name of a device in its box. */
export function addDeviceName(
  names: LabelBuilder,
  { devices }: PlanModel,
  device: number,
  [x, y, width, height]: readonly [x: number, y: number, width: number, height: number],
): void {
  const level = devices.level[device]!;
  const ink: ColourRef = level < 0 ? "ink" : `onlevel:${level}`;
  names.add(devices.names[device]!, x + width / 2, y + height / 2, ink, width * 0.94, height);
}
