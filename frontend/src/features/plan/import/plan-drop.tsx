/** Dropping a plan's file anywhere on the page opens it, as does the palette; the frame shows where. */
import { useMemo } from "react";
import { useFileDrop } from "@/ui/use-file-drop";
import { type Command, useCommands } from "../../shared/commands";
import styles from "./import.module.css";
import { chooseFile, useImport } from "./use-import";

export function PlanDrop() {
  const open = useImport();
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "open-file",
        title: "Open a plan from a JSON file",
        group: "Plan",
        run: () => chooseFile((files) => void open(files)),
      },
    ],
    [open],
  );
  useCommands("plan-import", commands);
  const over = useFileDrop("window", (files) => void open(files));
  return over ? (
    <div className={styles.drop}>
      <p>Drop a plan’s JSON file to open it</p>
    </div>
  ) : null;
}
