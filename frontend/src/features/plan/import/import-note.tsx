/** Whether the plan on screen is the one that the opened file was made from. */
import { useEffect } from "react";
import { sameSpec } from "@/shared/plans/spec";
import { IconButton } from "@/ui/button";
import { Icon } from "@/ui/icon";
import styles from "../header/refused-banner.module.css";
import type { Computed } from "../state/preview";
import { UNTITLED, usePlan } from "../state/store";
import { differences } from "./differences";
import { useOpenedFile } from "./use-import";

export function ImportNote({ computed }: { computed: Computed }) {
  const file = useOpenedFile((state) => state.file);
  const shown = file !== null && sameSpec(computed.spec, file.spec);
  // The plan has the name from the file until the user renames it.
  useEffect(() => {
    const { saved, draftName, rename } = usePlan.getState();
    if (shown && file.name && !saved && draftName === UNTITLED) rename(file.name);
  }, [shown, file]);
  if (!shown) return null;
  const { made, fileName } = file;
  const { summary } = computed;
  const same = made?.hash === summary.plan_hash;
  return (
    <div className={styles.note} role="status">
      <Icon name={made && !same ? "warning" : "check"} />
      <span>
        {!made
          ? `Opened ${fileName}.`
          : same
            ? `Opened ${fileName}: the same plan as in the file (hash ${made.hash.slice(0, 12)}).`
            : `Opened ${fileName}: not the same plan as in the file. ${differences(made, summary)}`}
      </span>
      <IconButton
        icon="close"
        label="Hide this note"
        onClick={() => useOpenedFile.setState({ file: null })}
      />
    </div>
  );
}
