/**
 * The program of every server's switching chip: the paper's, or the user's, which is checked while
 * it is typed.
 */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useId, useMemo } from "react";
import { ApiError, api, take } from "@/api/client";
import { ProgramEditor } from "@/shared/chip/program/program-editor";
import { ProgramFile } from "@/shared/chip/program/program-file";
import type { JsonObject } from "@/shared/plans/spec";
import { Field, Select } from "@/ui/form";
import { TYPING_MS, useSettled } from "@/ui/use-settled";
import styles from "./chip-program-field.module.css";

export default function ChipProgramField({
  plan,
  own,
  program,
  message,
  onProgram,
}: {
  plan: JsonObject;
  /** The default program. */
  own: string;
  program: string | undefined;
  /** The server's message about it. */
  message: Parameters<typeof Field>[0]["message"];
  onProgram: (program: string | undefined) => void;
}) {
  const id = useId();
  return (
    <>
      <Field label="Chip program" controlWidth={270} message={message}>
        {(ids) => (
          <Select
            id={ids.id}
            aria-describedby={ids.describedBy}
            value={program === undefined ? "paper" : "own"}
            options={[
              { value: "paper", label: "The paper’s (Fig. 6)" },
              { value: "own", label: "My own" },
            ]}
            onChange={(choice) => onProgram(choice === "own" ? own : undefined)}
          />
        )}
      </Field>
      {program !== undefined && (
        <div className={styles.program}>
          <label htmlFor={id}>Program of every server’s chip</label>
          <Checked id={id} plan={plan} program={program} onProgram={onProgram} />
          <ProgramFile onProgram={onProgram} />
        </div>
      )}
    </>
  );
}

/**
 * The text, with the mistakes that show at the plan's first server. The others are checked before
 * the run.
 */
function Checked({
  id,
  plan,
  program,
  onProgram,
}: {
  id: string;
  plan: JsonObject;
  program: string;
  onProgram: (program: string) => void;
}) {
  const settled = useSettled(program, TYPING_MS);
  const spec = useMemo(() => (plan.topology ?? plan) as JsonObject, [plan]);
  const known = typeof plan.id !== "string";
  const checked = useQuery({
    queryKey: ["chip-check", spec, settled],
    enabled: known,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) =>
      take(api.POST("/api/v1/chip/check", { body: { program: settled, at: { spec } }, signal })),
  });
  const findings = checked.error instanceof ApiError ? checked.error.findings : [];
  return (
    <>
      <ProgramEditor id={id} program={program} findings={findings} onProgram={onProgram} />
      {checked.data && findings.length === 0 && (
        <p className={styles.size} role="status">
          {checked.data.tables.TCAM?.entries} of {checked.data.tables.TCAM?.size.toLocaleString("en")} TCAM
          entries, {checked.data.vifs} interfaces at the first server
        </p>
      )}
    </>
  );
}
