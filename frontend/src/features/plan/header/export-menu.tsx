import { lazy, Suspense } from "react";
import type { PlanSpec } from "@/shared/plans/spec";
import { buttonClass } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { DialogTrigger, PopoverPanel, TriggerButton } from "@/ui/overlay";
import common from "./common.module.css";
import type { Exporter } from "./use-export";

const ExportList = lazy(() => import("./export-list"));

/** The button for exports; the list of formats is loaded when it opens. */
export function ExportMenu(props: { spec: PlanSpec; name: string; exporter: Exporter }) {
  return (
    <DialogTrigger>
      <TriggerButton className={buttonClass()}>
        <Icon name="export" />
        <span className={common.word}>Export</span>
        <Icon name="chevron" size={12} />
      </TriggerButton>
      <PopoverPanel label="Export the plan" width={400}>
        <Suspense fallback="Loading formats…">
          <ExportList {...props} />
        </Suspense>
      </PopoverPanel>
    </DialogTrigger>
  );
}
