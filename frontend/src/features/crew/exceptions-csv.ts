import type { Mark } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import { csvOf } from "@/ui/table-order";
import { cableName } from "@/units";
import { cableEnds } from "./order";

const COLUMNS = ["Cable", "Rack", "Label near", "Label far", "Problem", "By", "At"];

/** The problems that the crew found, with both labels of each cable. */
export function exceptionsCsv(model: PlanModel, marks: readonly Mark[]): string {
  return csvOf(
    COLUMNS,
    marks.map((mark) => {
      const [near, far] = cableEnds(model, mark.cable, homeRack(model, mark.cable));
      return [cableName(mark.cable), near.rack, near.label, far.label, mark.note, mark.by ?? "", mark.at];
    }),
  );
}

/** The rack of a cable's a end, under which it is listed. */
export function homeRack(model: PlanModel, cable: number): number {
  return model.devices.rack[model.cables.aDevice[cable]!]!;
}
