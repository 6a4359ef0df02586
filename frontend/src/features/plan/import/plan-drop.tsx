/**
 * Dropping a plan's file anywhere on the page opens it, as does the palette; the frame shows where.
 */
import { lazy, Suspense, useMemo } from "react";
import { type Command, useCommands } from "@/shared/shell/commands";
import { DropCover } from "@/ui/drop-cover";
import { useFileDrop } from "@/ui/use-file-drop";
import { openTopologyFile, useTopologyFile } from "../topology-file/open";
import { chooseFile, useImport } from "./use-import";

const TopologyFileDialog = lazy(() => import("../topology-file/dialog"));

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
      {
        id: "open-topology",
        title: "Bring your own topology",
        group: "Plan",
        run: () => openTopologyFile(),
      },
    ],
    [open],
  );
  useCommands("plan-import", commands);
  const over = useFileDrop("window", (files) => void open(files));
  const isOpen = useTopologyFile((state) => state.isOpen);
  return (
    <>
      {over && (
        <DropCover text="Drop a plan’s JSON file, or a network: GraphML, GEXF, DOT, CSV, containerlab, NetBox" />
      )}
      {isOpen && (
        <Suspense>
          <TopologyFileDialog />
        </Suspense>
      )}
    </>
  );
}
