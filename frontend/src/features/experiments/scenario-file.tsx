/** Scenario files: the draft saved as one, and one that is chosen or dropped opened in the form. */
import { useCallback, useMemo, useState } from "react";
import { ApiError, api, call, errorOf, requestTo, take } from "@/api/client";
import { fileNameOf } from "@/shared/server/download";
import { type Command, useCommands } from "@/shared/shell/commands";
import { Button } from "@/ui/button";
import { DropCover } from "@/ui/drop-cover";
import { textOf } from "@/ui/file-text";
import { toast } from "@/ui/toast";
import { useFileDrop } from "@/ui/use-file-drop";
import { saveFile } from "@/units/save-file";
import { type Draft, readDraft } from "./draft";
import styles from "./experiments.module.css";

/** The server reads no larger one. */
const MOST_BYTES = 1_000_000;

interface Opened {
  name: string;
  /** The errors in it, each with its line; empty if it was loaded into the form. */
  problems: string[];
}

function problemsOf(error: unknown): string[] {
  if (!(error instanceof ApiError) || error.errors.length === 0)
    return [error instanceof Error ? error.message : String(error)];
  return error.errors.map(({ line, field, message, value, limit, hint }) =>
    [
      `${line ? `Line ${line}, ` : ""}${field}: ${/[.!?]$/.test(message) ? message : `${message}.`}`,
      value !== null && value !== undefined && `The value is ${JSON.stringify(value)}.`,
      limit && !hint?.includes(limit) && `Must be ${limit}.`,
      hint,
    ]
      .filter(Boolean)
      .join(" "),
  );
}

async function draftIn(files: readonly File[]): Promise<{ name: string; draft: Draft }> {
  const [file] = files;
  if (!file || files.length > 1) throw new Error("Open one file at a time.");
  if (file.size > MOST_BYTES)
    throw new Error(`${file.name} is too large for a scenario: at most ${MOST_BYTES / 1000} KB.`);
  const text = await textOf(file);
  const body = await take(api.POST("/api/v1/scenarios/read", { body: { text } }));
  const draft = readDraft(body);
  if (!draft) throw new Error(`${file.name} has no plan.`);
  return { name: file.name, draft };
}

/** Saves the draft as a file for git and CI. */
async function saveScenario(draft: Draft): Promise<void> {
  try {
    const response = await call(
      requestTo("/api/v1/scenarios/write", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ experiment: draft }),
      }),
    );
    if (!response.ok) throw errorOf(await response.json().catch(() => null), response);
    saveFile(await response.blob(), fileNameOf(response.headers.get("content-disposition"), "scenario.yaml"));
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), "error");
  }
}

function choose(open: (files: readonly File[]) => void): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = ".yaml,.yml,application/yaml";
  input.addEventListener("change", () => open([...(input.files ?? [])]));
  input.click();
}

function useOpenScenario(onOpen: (draft: Draft) => void) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const open = useCallback(
    async (files: readonly File[]) => {
      try {
        const { name, draft } = await draftIn(files);
        onOpen(draft);
        setOpened({ name, problems: [] });
      } catch (error) {
        setOpened({ name: files[0]?.name ?? "The file", problems: problemsOf(error) });
      }
    },
    [onOpen],
  );
  return { opened, open };
}

export function ScenarioFile({ draft, onOpen }: { draft: Draft; onOpen: (draft: Draft) => void }) {
  const { opened, open } = useOpenScenario(onOpen);
  const over = useFileDrop("window", (files) => void open(files));
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "open-scenario",
        title: "Open a scenario file",
        group: "Experiment",
        run: () => choose((files) => void open(files)),
      },
      {
        id: "save-scenario",
        title: "Save this experiment as a scenario file",
        group: "Experiment",
        run: () => void saveScenario(draft),
      },
    ],
    [draft, open],
  );
  useCommands("scenario-file", commands);
  return (
    <>
      <div className={styles.scenario}>
        <Button small icon="up" onClick={() => choose((files) => void open(files))}>
          Open a scenario…
        </Button>
        <Button
          small
          icon="export"
          title="A YAML file for git and CI: run it with cubeyard scenario run"
          onClick={() => void saveScenario(draft)}
        >
          Save as file
        </Button>
      </div>
      {opened && (
        <div className={styles.opened} role="status" data-bad={opened.problems.length > 0 || undefined}>
          {opened.problems.length === 0 ? (
            `Opened ${opened.name}.`
          ) : (
            <>
              {`${opened.name} cannot be opened.`}
              <ul>
                {opened.problems.map((problem) => (
                  <li key={problem}>{problem}</li>
                ))}
              </ul>
            </>
          )}
        </div>
      )}
      {over && <DropCover text="Drop a scenario’s YAML file to open it" />}
    </>
  );
}
