/**
 * The program of the servers' switching chips: read, changed and committed to all of them while
 * packets flow.
 */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ApiError, api, take } from "@/api/client";
import { ProgramEditor } from "@/shared/chip/program/program-editor";
import { ProgramFile } from "@/shared/chip/program/program-file";
import { Button } from "@/ui/button";
import { Section } from "@/ui/form";
import { formatNumber, plural } from "@/units";
import { problemText } from "../faults/break-draft";
import styles from "./chip-program.module.css";

export default function ChipProgram({ run }: { run: string }) {
  const id = useId();
  const client = useQueryClient();
  const key = ["chip-program", run];
  const params = { path: { id: run } };
  const running = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => take(api.GET("/api/v1/runs/{id}/chip-program", { params, signal })),
    // Others may commit too.
    refetchInterval: 5000,
    retry: false,
  });
  const [typed, setTyped] = useState<string | null>(null);
  const commit = useMutation({
    mutationFn: (program: string) =>
      take(api.POST("/api/v1/runs/{id}/chip-program", { params, body: { program } })),
    onSuccess: (_, program) => {
      client.setQueryData(key, { program });
      setTyped(null);
    },
  });
  const now = running.data?.program;
  if (now === undefined || now === null) return null;
  const program = typed ?? now;
  const changed = program !== now;
  const [mistake] = commit.error instanceof ApiError ? commit.error.errors : [];
  return (
    <Section title="Chip program (all servers)">
      <details className={styles.program}>
        <summary>Show and change it</summary>
        <label htmlFor={id} className="muted plain">
          A commit replaces it in every chip at once; packets meet the one or the other, never a mixture.
        </label>
        <ProgramEditor
          id={id}
          program={program}
          findings={[]}
          onProgram={(text) => {
            commit.reset();
            setTyped(text);
          }}
        />
        <ProgramFile onProgram={setTyped} />
        <div className={styles.actions}>
          <Button disabled={!changed || commit.isPending} onClick={() => commit.mutate(program)}>
            {commit.isPending ? "Committing…" : "Commit to all servers"}
          </Button>
          <Button disabled={!changed} onClick={() => setTyped(null)}>
            Discard changes
          </Button>
        </div>
        {commit.data && !changed && (
          <p className="muted plain" role="status">
            {plural(commit.data.servers, "server")}, {formatNumber(commit.data.micros / 1000, 1)} ms
          </p>
        )}
        {commit.error && (
          <p className={styles.error} role="alert">
            {mistake?.message ?? problemText(commit.error)} {mistake?.hint}
          </p>
        )}
      </details>
    </Section>
  );
}
