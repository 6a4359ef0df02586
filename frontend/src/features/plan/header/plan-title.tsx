/** The plan's name and, once it is saved, its revisions. */
import { type ComponentProps, lazy, Suspense } from "react";
import { PlanMenu } from "./plan-menu";
import type Revisions from "./revision-menu";

/** Only a saved plan has revisions. */
const RevisionMenu = lazy(() => import("./revision-menu"));

export function PlanTitle({
  saved,
  onRevert,
  ...menu
}: Omit<ComponentProps<typeof PlanMenu>, "saved"> & {
  saved: { id: string; revision: number } | null;
  onRevert: ComponentProps<typeof Revisions>["onRevert"];
}) {
  return (
    <>
      <PlanMenu {...menu} saved={saved !== null} />
      {saved && (
        <Suspense>
          <RevisionMenu id={saved.id} revision={saved.revision} onRevert={onRevert} />
        </Suspense>
      )}
    </>
  );
}
