import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { api, take } from "@/api/client";
import type { Change } from "@/api/types";
import type { ChangesSearch } from "@/shared/plans/url-state";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { Shell } from "@/shared/shell/shell";
import { Button } from "@/ui/button";
import { ColumnHeads } from "@/ui/column-heads";
import { Select, TextInput } from "@/ui/form";
import list from "@/ui/list.module.css";
import { Empty, Skeletons } from "@/ui/marks";
import { ShowMore } from "@/ui/show-more";
import { TYPING_MS, useSettled, useTypedText } from "@/ui/use-settled";
import { useTitle } from "@/ui/use-title";
import { formatDate, plural } from "@/units";
import { KINDS, kindName, kindOf, whatText } from "./change-text";

const PAGE = 50;

/** The log of changes with authors and times, the latest first. */
export default function ChangesPage() {
  const search: ChangesSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const set = (change: Partial<ChangesSearch>) =>
    void navigate({ to: "/changes", search: { ...search, ...change }, replace: true });
  const changes = useChanges(search);
  useTitle("Changes");
  const items = changes.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.keys(search).length > 0;
  return (
    <Shell
      status={
        changes.data && (
          <span>{`${plural(items.length, "change")}${changes.hasNextPage ? " shown, more below" : ""}`}</span>
        )
      }
    >
      <div className={list.page}>
        <div className={list.head}>
          <h1>Changes</h1>
          <span className={list.space} />
          <Filters search={search} set={set} />
        </div>
        {changes.isError && !changes.data ? (
          <ProblemView error={changes.error} onRetry={() => void changes.refetch()} />
        ) : !changes.data ? (
          <Skeletons count={10} />
        ) : items.length === 0 ? (
          <Empty title={filtered ? "No matching changes" : "No changes yet"}>
            {filtered && (
              <Button onClick={() => void navigate({ to: "/changes", search: {} })}>Show all changes</Button>
            )}
          </Empty>
        ) : (
          <>
            <ChangesTable changes={items} />
            <ShowMore query={changes} />
          </>
        )}
      </div>
    </Shell>
  );
}

function useChanges({ kind, plan, who, q }: ChangesSearch) {
  const known = kindOf(kind);
  const filter = { kind: known && [known], plan, who, q: useSettled(q, TYPING_MS) || undefined };
  const requests = useMemo<ScreenRequest[]>(() => {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries({ kind, plan, who, q })) if (value) query.set(key, value);
    const filters = query.size > 0 ? `?${query}` : "";
    return [{ title: "These changes", method: "GET", path: `/api/v1/changes${filters}` }];
  }, [kind, plan, who, q]);
  useScreen(requests);
  return useInfiniteQuery({
    queryKey: ["changes", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      take(
        api.GET("/api/v1/changes", {
          params: { query: { ...filter, limit: PAGE, cursor: pageParam } },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next ?? undefined,
    refetchOnMount: "always",
    placeholderData: (old) => old,
  });
}

function Filters({ search, set }: { search: ChangesSearch; set: (change: Partial<ChangesSearch>) => void }) {
  const { kind, plan, who, q } = search;
  const [words, setWords] = useTypedText(q ?? "", (next) => set({ q: next || undefined }));
  return (
    <>
      <TextInput
        type="search"
        aria-label="Filter changes by name or detail"
        placeholder="Search by name or detail"
        className={list.filter}
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <Select
        aria-label="Kind"
        width={148}
        value={kindOf(kind) ?? ""}
        options={[
          { value: "", label: "All kinds" },
          ...KINDS.map((value) => ({ value, label: kindName(value) })),
        ]}
        onChange={(next) => set({ kind: next || undefined })}
      />
      {plan && (
        <Button icon="close" onClick={() => set({ plan: undefined })}>
          One plan
        </Button>
      )}
      {who && (
        <Button icon="close" onClick={() => set({ who: undefined })}>
          By {who}
        </Button>
      )}
    </>
  );
}

function ChangesTable({ changes }: { changes: readonly Change[] }) {
  return (
    <table className={list.table}>
      <ColumnHeads
        columns={[
          "What",
          "Name",
          "Detail",
          { title: "Who", className: list.medium },
          { title: "When", className: list.date },
        ]}
      />
      <tbody>
        {changes.map((change) => (
          <tr key={change.id} data-testid="change">
            <th scope="row">{whatText(change)}</th>
            <td>
              <Subject change={change} />
            </td>
            <td>{change.detail}</td>
            <td data-column="by">
              <Link to="/changes" search={(old: ChangesSearch) => ({ ...old, who: change.who })}>
                {change.who}
              </Link>
            </td>
            <td className="muted">{formatDate(change.at)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/**
 * A link to the changed item, or to the plan that contains it. For deleted items, the linked page
 * shows that they are deleted.
 */
function Subject({ change: { kind, action, subject, name, plan } }: { change: Change }) {
  if (action === "deleted") return <>{name}</>;
  if (kind === "run")
    return (
      <Link to="/runs/$id" params={{ id: subject }}>
        {name}
      </Link>
    );
  if (plan !== null && (kind === "plan" || kind === "note" || kind === "work"))
    return (
      <Link to="/plans/$id" params={{ id: plan }}>
        {name}
      </Link>
    );
  return <>{name}</>;
}
