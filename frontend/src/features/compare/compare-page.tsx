import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import { DEFAULT_REFS, MAX_PLANS, readRefs, without } from "@/shared/plans/refs";
import type { Json } from "@/shared/plans/spec";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { type Command, useCommands } from "@/shared/shell/commands";
import { Shell } from "@/shared/shell/shell";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/clipboard";
import { BasisBadge, Empty, Skeleton, Skeletons } from "@/ui/marks";
import { Segmented } from "@/ui/tabs";
import { useTitle } from "@/ui/use-title";
import { plural } from "@/units";
import { saveFile } from "@/units/save-file";
import { AddPlan } from "./add-plan";
import styles from "./compare-page.module.css";
import { CompareTable } from "./compare-table";
import { compareCsv } from "./comparison-csv";
import { sweepOf } from "./degradation";
import { Rates } from "./rates";
import { revisionsOf } from "./revisions";
import { bodyOf, useComparison } from "./use-comparison";

const CompareCharts = lazy(() => import("./compare-charts"));
const DegradationSection = lazy(() => import("./degradation-section"));
const RevisionChanges = lazy(() => import("./revision-changes"));
const WorkOrderDialog = lazy(() => import("./work-order"));

export default function ComparePage() {
  const chosen = useChosen();
  const { refs, base, rates, go } = chosen;
  const [orderOf, setOrderOf] = useState<number | null>(null);
  const comparison = useComparison(refs, base, rates);
  const { resolved, query, data, add } = comparison;
  useTitle("Compare");
  useCompareScreen(chosen, comparison);

  return (
    <Shell
      actions={
        <>
          <CopyButton small={false} icon="share" text={() => location.href}>
            Share
          </CopyButton>
          {data && (
            <Button icon="export" onClick={() => saveFile(compareCsv(data), "comparison.csv")}>
              CSV
            </Button>
          )}
        </>
      }
      status={
        <span>
          {data
            ? `${plural(data.plans.length, "plan")} against ${data.plans[base]?.name}`
            : query.isFetching
              ? "Planning…"
              : ""}
        </span>
      }
    >
      <div className={styles.page}>
        <CompareHead chosen={chosen} add={add} />
        {data && <Rates plans={data.plans} base={base} rates={rates} onRates={chosen.setRates} />}
        <Compared chosen={chosen} comparison={comparison} onWorkOrder={setOrderOf} />
      </div>
      <Suspense>
        {orderOf !== null && data && resolved.data && (
          <WorkOrderDialog
            before={resolved.data[base]!}
            after={resolved.data[orderOf]!}
            names={[data.plans[base]!.name, data.plans[orderOf]!.name]}
            onClose={() => setOrderOf(null)}
            onSaved={(ids) =>
              go(
                refs.map((ref) => ids.get(ref) ?? ref),
                base,
              )
            }
          />
        )}
      </Suspense>
    </Shell>
  );
}

/** The plans that the address names, which of them is the base, and going to others. */
function useChosen() {
  const search = useSearch({ strict: false }) as {
    plans?: string;
    base?: number;
    as?: "charts";
    rates?: string;
  };
  const navigate = useNavigate();
  const refs = useMemo(() => {
    const read = readRefs(search.plans);
    return search.plans === undefined ? DEFAULT_REFS : read;
  }, [search.plans]);
  const base = Math.min(search.base ?? 0, Math.max(0, refs.length - 1));
  const rates = useMemo(() => (search.rates ?? "").split(",").filter(Boolean), [search.rates]);
  const go = (next: string[], nextBase: number) =>
    void navigate({
      to: "/compare",
      search: {
        plans: next.join(","),
        base: nextBase || undefined,
        as: search.as,
        // Rates are to the base's currency: another base has others.
        rates: next[nextBase] === refs[base] ? search.rates : undefined,
      },
    });
  const setRates = (next: string[]) =>
    void navigate({
      to: "/compare",
      search: { ...search, rates: next.join(",") || undefined },
      replace: true,
    });
  return { search, refs, base, rates, go, setRates };
}

type Chosen = ReturnType<typeof useChosen>;
type Comparison = ReturnType<typeof useComparison>;

/** The comparison as REST calls, and its commands in the palette. */
function useCompareScreen({ refs, base, rates, search }: Chosen, { resolved, add }: Comparison): void {
  const navigate = useNavigate();
  const requests = useMemo<ScreenRequest[]>(
    () =>
      resolved.data && refs.length >= 2
        ? [
            {
              title: "Create a prediction of all plans",
              method: "POST",
              path: "/api/v1/experiments",
              body: sweepOf(resolved.data),
            },
            {
              title: "This comparison",
              method: "POST",
              path: "/api/v1/compare",
              body: { plans: resolved.data.map(bodyOf), base, rates } as unknown as Json,
            },
          ]
        : [],
    [resolved.data, refs.length, base, rates],
  );
  useScreen(requests);

  const commands = useMemo<Command[]>(
    () =>
      refs.length >= MAX_PLANS
        ? []
        : add.flatMap((group) =>
            group.entries.map((entry) => ({
              id: `add-${entry.id}`,
              title: `Add ${entry.label}`,
              group: "Compare",
              icon: "plus" as const,
              run: () =>
                void navigate({
                  to: "/compare",
                  search: { ...search, plans: [...refs, entry.id].join(",") },
                }),
            })),
          ),
    [add, refs, search, navigate],
  );
  useCommands("compare", commands);
}

function CompareHead({ chosen, add }: { chosen: Chosen; add: Comparison["add"] }) {
  const { search, refs, base, go } = chosen;
  const navigate = useNavigate();
  return (
    <div className={styles.head}>
      <h1>Compare</h1>
      <p>
        Differences from the base plan; bars share a scale in each row. <BasisBadge basis="modelled" />
      </p>
      <span className={styles.space} />
      <Segmented
        label="Show as"
        value={search.as ?? "table"}
        onChange={(as) =>
          void navigate({
            to: "/compare",
            search: { ...search, as: as === "charts" ? as : undefined },
            replace: true,
          })
        }
        items={[
          { id: "table", label: "Table" },
          { id: "charts", label: "Charts" },
        ]}
      />
      {refs.length < MAX_PLANS && <AddPlan groups={add} onAdd={(id) => go([...refs, id], base)} />}
    </div>
  );
}

/** The comparison as a table or as charts; before there is one, why not. */
function Compared({
  chosen,
  comparison,
  onWorkOrder,
}: {
  chosen: Chosen;
  comparison: Comparison;
  onWorkOrder: (plan: number) => void;
}) {
  const { search, refs, base, go } = chosen;
  const { resolved, query, data, degradation, quickError } = comparison;
  if (resolved.isError || query.isError)
    return (
      <ProblemView
        error={resolved.error ?? query.error}
        onRetry={() => void (resolved.isError ? resolved.refetch() : query.refetch())}
      />
    );
  if (refs.length < 2)
    return (
      <Empty title="Select at least two plans">
        <p>Add an example or a saved plan.</p>
        <Button onClick={() => go(DEFAULT_REFS, 0)}>Compare the examples</Button>
      </Empty>
    );
  if (!data) return <Skeletons count={14} inset />;
  const pair = revisionsOf(resolved.data ?? [], base);
  const changes = pair && (
    <Suspense fallback={<Skeleton height={120} />}>
      <RevisionChanges {...pair} />
    </Suspense>
  );
  const predicted = (
    <>
      {quickError !== null && <ProblemView error={quickError} />}
      <Suspense fallback={<Skeleton height={40} />}>
        <DegradationSection degradation={degradation} names={data.plans.map(({ name }) => name)} />
      </Suspense>
    </>
  );
  return search.as === "charts" ? (
    <Suspense fallback={<Skeleton height={320} />}>
      <CompareCharts data={data} base={base}>
        {changes}
        {predicted}
      </CompareCharts>
    </Suspense>
  ) : (
    <CompareTable
      data={data}
      refs={resolved.data ?? []}
      base={base}
      stale={query.isPlaceholderData}
      onBase={(at) => go(refs, at)}
      onRemove={(at) => {
        const next = without(refs, base, at);
        go(next.refs, next.base);
      }}
      onWorkOrder={onWorkOrder}
      above={changes}
    >
      {predicted}
    </CompareTable>
  );
}
