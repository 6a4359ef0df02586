/** Commands that change, keep, send or save the plan. */
import type { ExportFormat } from "@/api/types";
import { EXAMPLES } from "@/shared/plans/examples";
import type { PlanSpec } from "@/shared/plans/spec";
import type { Command } from "@/shared/shell/commands";
import { usePlan } from "../state/store";

export interface Actions {
  save: () => Promise<void>;
  share: () => Promise<void>;
  compare: () => Promise<void>;
  predict: () => Promise<void>;
  emulate: () => Promise<void>;
  crew: () => Promise<void>;
  asBuilt: () => Promise<void>;
  fit: () => void;
  /** Saves the complete picture, not only its visible part. */
  picture: (kind: "svg" | "png") => Promise<void>;
  exportAs: (format: ExportFormat) => void;
  formats: ExportFormat[] | undefined;
}

export function editCommands(): Command[] {
  const plan = usePlan.getState();
  return [
    { id: "undo", title: "Undo", group: "Edit", icon: "undo", keys: "mod+z", run: plan.undo },
    { id: "redo", title: "Redo", group: "Edit", icon: "redo", keys: "mod+shift+z mod+y", run: plan.redo },
  ];
}

type PlanActions = Pick<Actions, "save" | "share" | "compare" | "predict" | "emulate" | "crew" | "asBuilt">;

export function planCommands({
  save,
  share,
  compare,
  predict,
  emulate,
  crew,
  asBuilt,
}: PlanActions): Command[] {
  return [
    {
      id: "save",
      title: "Save a revision",
      group: "Plan",
      icon: "save",
      keys: "mod+s",
      run: () => void save(),
    },
    {
      id: "share",
      title: "Copy a link to this view",
      group: "Plan",
      icon: "share",
      run: () => void share(),
    },
    {
      id: "compare",
      title: "Compare this plan with others",
      group: "Plan",
      icon: "compare",
      run: () => void compare(),
    },
    {
      id: "predict",
      title: "Predict this plan",
      group: "Plan",
      icon: "play",
      hint: "throughput, also under failures",
      run: () => void predict(),
    },
    {
      id: "emulate",
      title: "Emulate this plan",
      group: "Plan",
      icon: "pulse",
      hint: "real packets on this machine, with fault injection",
      run: () => void emulate(),
    },
    {
      id: "crew",
      title: "Crew mode: tick off cables",
      group: "Plan",
      icon: "check",
      hint: "labels, routes and progress by rack, on a phone",
      run: () => void crew(),
    },
    {
      id: "as-built",
      title: "As built: check a cable list from the floor",
      group: "Plan",
      icon: "check",
      hint: "CSV, NetBox or LLDP; with a work order that repairs it",
      run: () => void asBuilt(),
    },
    {
      id: "print",
      title: "Print",
      group: "Plan",
      icon: "print",
      keys: "mod+p",
      local: true,
      run: () => window.print(),
    },
  ];
}

type ExportActions = Pick<Actions, "picture" | "exportAs" | "formats">;

export function exportCommands({ picture, exportAs, formats }: ExportActions): Command[] {
  return [
    {
      id: "svg",
      title: "Save the drawing as SVG",
      group: "Export",
      icon: "export",
      run: () => void picture("svg"),
    },
    {
      id: "png",
      title: "Save the drawing as PNG",
      group: "Export",
      icon: "export",
      run: () => void picture("png"),
    },
    ...(formats ?? []).map(
      (format): Command => ({
        id: `export-${format.name}`,
        title: `Export ${format.title}`,
        group: "Export",
        icon: "export",
        run: () => exportAs(format),
      }),
    ),
  ];
}

export function exampleCommands(openSpec: (spec: PlanSpec) => Promise<void>): Command[] {
  return [
    ...EXAMPLES.map(
      (example): Command => ({
        id: `example-${example.slug}`,
        title: `Open example: ${example.title}`,
        group: "Plan",
        run: () => void openSpec(example.spec),
      }),
    ),
  ];
}
