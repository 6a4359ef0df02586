import { buttonClass } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { Menu, TriggerButton } from "@/ui/overlay";
import type { PlanGroup } from "./use-comparison";

/** A menu of the plans that the comparison may take in as well. */
export function AddPlan({ groups, onAdd }: { groups: readonly PlanGroup[]; onAdd: (id: string) => void }) {
  return (
    <Menu
      label="Add a plan"
      trigger={
        <TriggerButton className={buttonClass()}>
          <Icon name="plus" />
          Add a plan
        </TriggerButton>
      }
      groups={groups
        .filter((group) => group.entries.length > 0)
        .map((group) => ({
          ...group,
          entries: group.entries.map((entry) => ({ ...entry, onAction: () => onAdd(entry.id) })),
        }))}
    />
  );
}
