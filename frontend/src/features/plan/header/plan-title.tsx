/** The plan's name and, once it is saved, its revisions. */
import type { ComponentProps } from "react";
import { PlanMenu } from "./plan-menu";
import { RevisionMenu } from "./revision-menu";

export function PlanTitle({
  saved,
  onRevert,
  ...menu
}: Omit<ComponentProps<typeof PlanMenu>, "saved"> & {
  saved: { id: string; revision: number } | null;
  onRevert: ComponentProps<typeof RevisionMenu>["onRevert"];
}) {
  return (
    <>
      <PlanMenu {...menu} saved={saved !== null} />
      {saved && <RevisionMenu id={saved.id} revision={saved.revision} onRevert={onRevert} />}
    </>
  );
}
