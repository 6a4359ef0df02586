import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, take } from "@/api/client";
import type { Experiment } from "@/api/types";
import { ProblemView } from "@/shared/server/problem";
import { Button, IconButton } from "@/ui/button";
import { ColumnHeads } from "@/ui/column-heads";
import { TextInput } from "@/ui/form";
import list from "@/ui/list.module.css";
import { Empty, Skeleton } from "@/ui/marks";
import { ShowMore } from "@/ui/show-more";
import { toast } from "@/ui/toast";
import { TYPING_MS, useSettled, useTypedText } from "@/ui/use-settled";
import { formatCount, formatDate } from "@/units";
import styles from "./experiments.module.css";

const PAGE = 30;

/** Saved experiments: run one again, open its runs, or start a new one from it. */
export function ExperimentsList({ q, onQ }: { q: string | undefined; onQ: (q: string | undefined) => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [words, setWords] = useTypedText(q ?? "", (next) => onQ(next || undefined));
  const query = useExperiments(useSettled(q, TYPING_MS));
  const failed = (error: unknown) => toast(error instanceof Error ? error.message : String(error), "error");
  const run = useMutation({
    mutationFn: (id: string) => take(api.POST("/api/v1/experiments/{id}/runs", { params: { path: { id } } })),
    onSuccess: (made) => void navigate({ to: "/runs/$id", params: { id: made.id } }),
    onError: failed,
  });
  const remove = useMutation({
    mutationFn: (id: string) => take(api.DELETE("/api/v1/experiments/{id}", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ["experiments"] }),
    onError: failed,
  });
  const items = query.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <section aria-label="Saved experiments">
      <div className={styles.bar}>
        <h2>Saved experiments</h2>
        <span className={styles.space} />
        <TextInput
          type="search"
          aria-label="Filter experiments by name"
          placeholder="Search by name"
          className={styles.filter}
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      </div>
      {query.isError && !query.data ? (
        <ProblemView error={query.error} onRetry={() => void query.refetch()} />
      ) : !query.data ? (
        <Skeleton height={160} />
      ) : items.length === 0 ? (
        <Empty title={q ? "No matching experiments" : "No experiments yet"}>
          <p>
            {q
              ? "Try a shorter name."
              : "Create one on the left and run it. It is listed here with its runs."}
          </p>
        </Empty>
      ) : (
        <>
          <table className={list.table}>
            <ColumnHeads
              columns={[
                "Experiment",
                { title: "Kind", className: styles.kind },
                { title: "Points", className: styles.points },
                { title: "Created", className: styles.date },
                { title: "Actions", className: styles.tools, hidden: true },
              ]}
            />
            <tbody>
              {items.map((experiment) => (
                <Row
                  key={experiment.id}
                  experiment={experiment}
                  onRun={() => run.mutate(experiment.id)}
                  onDelete={() => remove.mutate(experiment.id)}
                />
              ))}
            </tbody>
          </table>
          <ShowMore query={query} />
        </>
      )}
    </section>
  );
}

/** Saved experiments whose names have these words, page by page. */
function useExperiments(words: string | undefined) {
  return useInfiniteQuery({
    queryKey: ["experiments", words ?? ""],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      take(
        api.GET("/api/v1/experiments", {
          params: { query: { ...(words && { q: words }), limit: PAGE, cursor: pageParam } },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next ?? undefined,
    refetchOnMount: "always",
    placeholderData: (old) => old,
  });
}

function Row({
  experiment,
  onRun,
  onDelete,
}: {
  experiment: Experiment;
  onRun: () => void;
  onDelete: () => void;
}) {
  const { id, name, kind, points, created_at } = experiment;
  const [confirming, setConfirming] = useState(false);
  return (
    <tr>
      <th scope="row">
        <Link to="/experiments" search={(old) => ({ q: old.q, from: id })}>
          {name}
        </Link>
      </th>
      <td className={styles.kind}>{kind}</td>
      <td className={styles.number} data-column="Points">
        {formatCount(points)}
      </td>
      <td className={styles.date}>{formatDate(created_at)}</td>
      <td className={list.actions}>
        {confirming ? (
          <Button small onClick={onDelete} onBlur={() => setConfirming(false)}>
            Delete with its runs
          </Button>
        ) : (
          <>
            <Link
              to="/runs"
              search={{ experiment: id }}
              className={styles.runs}
              aria-label={`Runs of ${name}`}
            >
              Runs
            </Link>{" "}
            <Button small icon="play" onClick={onRun} aria-label={`Run ${name}`}>
              Run
            </Button>{" "}
            <IconButton small icon="trash" label={`Delete ${name}`} onClick={() => setConfirming(true)} />
          </>
        )}
      </td>
    </tr>
  );
}
