import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { RUN_KINDS, RUN_STATES, type RunsSearch } from "@/shared/runs/run-url";
import { isOver } from "@/shared/runs/runs";
import { ProblemView } from "@/shared/server/problem";
import { Shell } from "@/shared/shell/shell";
import { Button } from "@/ui/button";
import { Select, TextInput } from "@/ui/form";
import list from "@/ui/list.module.css";
import { Empty, Skeletons } from "@/ui/marks";
import { ShowMore } from "@/ui/show-more";
import { useTypedText } from "@/ui/use-settled";
import { useTitle } from "@/ui/use-title";
import { formatCount, plural } from "@/units";
import { RunsTable } from "./runs-table";
import { useRunActions, useRunRequests, useRuns } from "./use-runs";

const options = (all: string, values: readonly string[]) => [
  { value: "", label: all },
  ...values.map((value) => ({ value, label: value[0]!.toUpperCase() + value.slice(1) })),
];

/** Every run, the latest first: its kind, its progress, and buttons to cancel or delete it. */
export default function RunsPage() {
  const search: RunsSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const { state, kind, experiment, q } = search;
  const set = (change: Partial<RunsSearch>) =>
    void navigate({ to: "/runs", search: { ...search, ...change }, replace: true });
  const runs = useRuns(search);
  const { cancel, remove } = useRunActions();
  useTitle("Runs");
  useRunRequests(search);

  const items = runs.data?.pages.flatMap((page) => page.items) ?? [];
  const busy = items.filter((run) => !isOver(run.state)).length;
  const filtered = Boolean(state || kind || experiment || q);
  return (
    <Shell
      status={
        runs.data && (
          <span>
            {`${plural(items.length, "run")}${runs.hasNextPage ? " shown, more below" : ""}, ${formatCount(busy)} active`}
          </span>
        )
      }
    >
      <div className={list.page}>
        <div className={list.head}>
          <h1>Runs</h1>
          <span className={list.space} />
          <RunFilters search={search} set={set} />
        </div>
        {runs.isError && !runs.data ? (
          <ProblemView error={runs.error} onRetry={() => void runs.refetch()} />
        ) : !runs.data ? (
          <Skeletons count={10} />
        ) : items.length === 0 ? (
          <Empty title={filtered ? "No matching runs" : "No runs yet"}>
            {filtered ? (
              <Button onClick={() => void navigate({ to: "/runs", search: {} })}>Show all runs</Button>
            ) : (
              <p>
                <Link to="/experiments">Create an experiment</Link> and run it, or run a{" "}
                <Link to="/figures">published figure</Link>.
              </p>
            )}
          </Empty>
        ) : (
          <>
            <RunsTable
              runs={items}
              onCancel={(run) => cancel.mutate(run.id)}
              onDelete={(run) => remove.mutate(run.id)}
            />
            <ShowMore query={runs} />
          </>
        )}
      </div>
    </Shell>
  );
}

function RunFilters({ search, set }: { search: RunsSearch; set: (change: Partial<RunsSearch>) => void }) {
  const { state, kind, experiment, q } = search;
  const [words, setWords] = useTypedText(q ?? "", (next) => set({ q: next || undefined }));
  return (
    <>
      <TextInput
        type="search"
        aria-label="Filter runs by name"
        placeholder="Search by name"
        className={list.filter}
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <Select
        aria-label="State"
        width={132}
        value={state ?? ""}
        options={options("All states", RUN_STATES)}
        onChange={(next) => set({ state: (next || undefined) as RunsSearch["state"] })}
      />
      <Select
        aria-label="Kind"
        width={132}
        value={kind ?? ""}
        options={options("All kinds", RUN_KINDS)}
        onChange={(next) => set({ kind: (next || undefined) as RunsSearch["kind"] })}
      />
      {experiment && (
        <Button icon="close" onClick={() => set({ experiment: undefined })}>
          One experiment
        </Button>
      )}
    </>
  );
}
