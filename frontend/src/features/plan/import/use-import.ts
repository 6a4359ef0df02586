/** Opening a plan from a file, chosen or dropped; a network of another program opens its dialog. */
import { useCallback } from "react";
import { create } from "zustand";
import { textOf } from "@/ui/file-text";
import { toast } from "@/ui/toast";
import { useOpenSpec } from "../state/use-plans";
import { isNetwork, openTopologyFile } from "../topology-file/open";
import type { PlanFile } from "./plan-file";

/**
 * More than any export of a plan that the server makes; reading it would only fill the browser's
 * memory.
 */
const MOST_BYTES = 512 * 1024 * 1024;

/** The file that was opened last, for the note that compares it with the plan. */
export const useOpenedFile = create<{ file: PlanFile | null }>(() => ({ file: null }));

/** Opens the plan of one file as an unsaved plan. Errors of the file are shown in a message. */
export function useImport(): (files: readonly File[]) => Promise<void> {
  const openSpec = useOpenSpec();
  return useCallback(
    async (files) => {
      try {
        const [file] = files;
        if (!file || files.length > 1) throw new Error("Open one file at a time.");
        if (await isNetwork(file)) {
          openTopologyFile(file);
          return;
        }
        if (file.size > MOST_BYTES) throw new Error(`${file.name} is too large for a plan.`);
        const { readPlanFile } = await import("./plan-file");
        const read = readPlanFile(file.name, await textOf(file));
        useOpenedFile.setState({ file: read });
        await openSpec(read.spec);
      } catch (error) {
        toast(error instanceof Error ? error.message : String(error), "error");
      }
    },
    [openSpec],
  );
}

/** Lets the user choose a file, and opens it. */
export function chooseFile(open: (files: readonly File[]) => void): void {
  const input = document.createElement("input");
  input.type = "file";
  input.addEventListener("change", () => open([...(input.files ?? [])]));
  input.click();
}
