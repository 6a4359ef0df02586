import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { api, take } from "@/api/client";
import type { Run } from "@/api/types";
import { Button, IconButton } from "@/ui/button";
import { Select, TextInput } from "@/ui/form";
import { Empty, Skeleton } from "@/ui/marks";
import { toast } from "@/ui/toast";
import { formatCount, formatPercent, plural } from "@/units";
import { type ScreenRequest, useScreen } from "../shared/curl";
import { formatDate } from "../shared/dates";
import list from "../shared/list.module.css";
import { ProblemView } from "../shared/problem";
import { RunMark } from "../shared/run-mark";
import { RUN_KINDS, RUN_STATES, type RunsSearch } from "../shared/run-url";
import { isOver, remainingText } from "../shared/runs";
import { Shell } from "../shared/shell";
import { useSettledText } from "../shared/use-settled";

const PAGE = 50;
/** While something runs, the list is asked again so often. */
const REFRESH_MS = 1500;

const options = (all: string, values: readonly string[]) => [
  { value: "", label: all },
  ...values.map((value) => ({ value, label: value[0]!.toUpperCase() + value.slice(1) })),
];

/** Every run, the latest first: what it was, how far it is, and a way to stop or forget it. */
export default function RunsPage() {
  const search: RunsSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const client = useQueryClient();
  const { state, kind, experiment, q } = search;
  const set = (change: Partial<RunsSearch>) =>
    void navigate({ to: "/runs", search: { ...search, ...change }, replace: true });
  const [words, setWords] = useSettledText(q ?? "", (next) => set({ q: next || undefined }));
  const filter = { state: state && [state], kind: kind && [kind], experiment, q: q || undefined };
  const runs = useInfiniteQuery({
    queryKey: ["runs", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      take(
        api.GET("/api/v1/runs", { params: { query: { ...filter, limit: PAGE, cursor: pageParam } }, signal }),
      ),
    getNextPageParam: (page) => page.next ?? undefined,
    refetchOnMount: "always",
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some((page) => page.items.some((run) => !isOver(run.state))) ? REFRESH_MS : false,
    placeholderData: (old) => old,
  });
  const settle = () => client.invalidateQueries({ queryKey: ["runs"] });
  const failed = (error: unknown) => toast(error instanceof Error ? error.message : String(error), "error");
  const cancel = useMutation({
    mutationFn: (id: string) => take(api.POST("/api/v1/runs/{id}/cancel", { params: { path: { id } } })),
    onSuccess: settle,
    onError: failed,
  });
  const remove = useMutation({
    mutationFn: (id: string) => take(api.DELETE("/api/v1/runs/{id}", { params: { path: { id } } })),
    onSuccess: settle,
    onError: failed,
  });
  useEffect(() => {
    document.title = "Runs · Cubeyard";
  }, []);
  const requests = useMemo<ScreenRequest[]>(() => {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries({ state, kind, experiment, q }))
      if (value) query.set(key, value);
    return [{ title: "These runs", method: "GET", path: `/api/v1/runs${query.size > 0 ? `?${query}` : ""}` }];
  }, [state, kind, experiment, q]);
  useScreen(requests);

  const items = runs.data?.pages.flatMap((page) => page.items) ?? [];
  const busy = items.filter((run) => !isOver(run.state)).length;
  const filtered = Boolean(state || kind || experiment || q);
  return (
    <Shell
      status={
        runs.data && (
          <span>
            {`${plural(items.length, "run")}${runs.hasNextPage ? " shown, more below" : ""}, ${formatCount(busy)} not over`}
          </span>
        )
      }
    >
      <div className={list.page}>
        <div className={list.head}>
          <h1>Runs</h1>
          <span className={list.space} />
          <TextInput
            type="search"
            aria-label="Filter runs by name"
            placeholder="Words of the name"
            className={list.filter}
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
          <Select
            aria-label="State"
            width={132}
            value={state ?? ""}
            options={options("Any state", RUN_STATES)}
            onChange={(next) => set({ state: (next || undefined) as RunsSearch["state"] })}
          />
          <Select
            aria-label="Kind"
            width={132}
            value={kind ?? ""}
            options={options("Any kind", RUN_KINDS)}
            onChange={(next) => set({ kind: (next || undefined) as RunsSearch["kind"] })}
          />
          {experiment && (
            <Button icon="close" onClick={() => set({ experiment: undefined })}>
              Of one experiment
            </Button>
          )}
        </div>
        {runs.isError && !runs.data ? (
          <ProblemView error={runs.error} onRetry={() => void runs.refetch()} />
        ) : !runs.data ? (
          <div className={list.loading}>
            {Array.from({ length: 10 }, (_, at) => (
              <Skeleton key={at} height={28} />
            ))}
          </div>
        ) : items.length === 0 ? (
          <Empty title={filtered ? "No run is like that" : "Nothing was run yet"}>
            {filtered ? (
              <Button onClick={() => void navigate({ to: "/runs", search: {} })}>Show all runs</Button>
            ) : (
              <p>
                <Link to="/experiments">Write an experiment</Link> and run it, or run a{" "}
                <Link to="/figures">published figure</Link>.
              </p>
            )}
          </Empty>
        ) : (
          <>
            <table className={list.table}>
              <thead>
                <tr>
                  <th scope="col">Run</th>
                  <th scope="col" className={list.short}>
                    Kind
                  </th>
                  <th scope="col" className={list.medium}>
                    State
                  </th>
                  <th scope="col" className={list.wide}>
                    Progress
                  </th>
                  <th scope="col" className={list.date}>
                    Begun
                  </th>
                  <th scope="col" className={list.tools}>
                    <span className="visually-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((run) => (
                  <RunRow
                    key={run.id}
                    run={run}
                    onCancel={() => cancel.mutate(run.id)}
                    onDelete={() => remove.mutate(run.id)}
                  />
                ))}
              </tbody>
            </table>
            {runs.hasNextPage && (
              <Button
                className={list.more}
                disabled={runs.isFetchingNextPage}
                onClick={() => void runs.fetchNextPage()}
              >
                Show more
              </Button>
            )}
          </>
        )}
      </div>
    </Shell>
  );
}

function RunRow({ run, onCancel, onDelete }: { run: Run; onCancel: () => void; onDelete: () => void }) {
  const over = isOver(run.state);
  const [asked, setAsked] = useState(false);
  return (
    <tr>
      <th scope="row">
        <Link to="/runs/$id" params={{ id: run.id }}>
          {run.title}
        </Link>
        {run.reason && <p className={list.muted}>{run.reason}</p>}
      </th>
      <td>{run.kind}</td>
      <td>
        <RunMark state={run.state} />
      </td>
      <td>
        {over ? (
          <span className={list.muted}>
            {`${formatCount(run.points_done)} of ${plural(run.points_total, "point")}`}
          </span>
        ) : (
          <>
            <progress max={1} value={run.progress} aria-label={`Progress of ${run.title}`} />
            <span className={list.muted}>
              {` ${formatPercent(run.progress)} ${remainingText(run.remaining_secs)}`}
            </span>
          </>
        )}
      </td>
      <td className={list.muted}>{formatDate(new Date(run.created_at))}</td>
      <td className={list.actions}>
        {!over ? (
          <Button small onClick={onCancel} aria-label={`Cancel ${run.title}`}>
            Cancel
          </Button>
        ) : asked ? (
          <Button small onClick={onDelete} onBlur={() => setAsked(false)}>
            Delete for good
          </Button>
        ) : (
          <IconButton small icon="trash" label={`Delete ${run.title}`} onClick={() => setAsked(true)} />
        )}
      </td>
    </tr>
  );
}
