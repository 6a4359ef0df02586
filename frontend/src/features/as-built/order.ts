/** The work order by rack, and as a file. */
import type { AsBuiltEnd, AsBuiltStep } from "@/api/types";
import { csvOf } from "@/ui/table-order";

const ACTIONS: Record<AsBuiltStep["action"], string> = {
  remove: "Take out",
  unplug: "Unplug one end",
  move: "Move one end",
  plug: "Plug in",
  replace: "Replace",
  pull: "Put in",
};

export interface RackSteps {
  /** Empty: none of the ports is in a rack of the plan. */
  rack: string;
  steps: AsBuiltStep[];
}

/** The steps of each rack in their order, racks in the order of their first step. */
export function byRack(steps: readonly AsBuiltStep[]): RackSteps[] {
  const racks = new Map<string, AsBuiltStep[]>();
  for (const step of steps) {
    const own = racks.get(step.rack);
    if (own) own.push(step);
    else racks.set(step.rack, [step]);
  }
  return [...racks].map(([rack, own]) => ({ rack, steps: own }));
}

const COLUMNS = [
  "step",
  "rack",
  "action",
  "cable",
  "out_of",
  "into",
  "stays",
  "length_metres",
  "after_step",
  "cable_of_step",
  "text",
];

/** The same rows as `cubeyard asbuilt --csv`. */
export function orderCsv(steps: readonly AsBuiltStep[]): string {
  const ends = (list: readonly AsBuiltEnd[]) => list.map((end) => `${end.device} ${end.port}`).join("; ");
  const number = (value: number | null) => (value === null ? "" : String(value));
  return csvOf(
    COLUMNS,
    steps.map((step) => [
      String(step.number),
      step.rack,
      ACTIONS[step.action],
      step.name,
      ends(step.out),
      ends(step.into),
      ends(step.stays ? [step.stays] : []),
      step.length_mm === null ? "" : String(step.length_mm / 1000),
      number(step.after),
      number(step.reuses),
      step.text,
    ]),
  );
}
