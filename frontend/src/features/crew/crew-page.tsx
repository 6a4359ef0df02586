import { Link, useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Plan } from "@/api/types";
import { useLastPlan } from "@/shared/plans/last-plan";
import type { PlanSpec } from "@/shared/plans/spec";
import { usePlanAt } from "@/shared/plans/use-plan-at";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { Shell } from "@/shared/shell/shell";
import { Empty, Skeleton } from "@/ui/marks";
import { useTitle } from "@/ui/use-title";
import styles from "./crew.module.css";
import { Overview } from "./overview";
import { RackWork } from "./rack-work";
import { useTicks } from "./use-ticks";
import { useModelAt } from "./use-work";

/** The id of an unsaved plan in the address. */
const UNSAVED = "new";

interface CrewSearch {
  revision?: number;
  rack?: string;
  cable?: string;
}

export default function CrewPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  useTitle("Crew");
  return <Shell>{id === UNSAVED ? <SaveFirst /> : <SavedPlan id={id} />}</Shell>;
}

function SaveFirst() {
  const lastPlan = useLastPlan((state) => state.href);
  return (
    <div className={styles.page}>
      <h1>Crew mode</h1>
      <Empty title="Save the plan first">
        <p>Crew mode ticks off the cables of a saved revision.</p>
        <Link to={lastPlan as "/"}>Back to the plan</Link>
      </Empty>
    </div>
  );
}

function SavedPlan({ id }: { id: string }) {
  const { revision } = useSearch({ strict: false }) as CrewSearch;
  const plan = usePlanAt(id, revision);
  if (plan.data) return <Work key={`${id} ${plan.data.revision}`} plan={plan.data} />;
  return (
    <div className={styles.page}>
      <h1>Crew mode</h1>
      {plan.isError ? (
        <ProblemView
          error={plan.error}
          title="This plan cannot be opened"
          onRetry={() => void plan.refetch()}
        />
      ) : (
        <Skeleton height={240} />
      )}
    </div>
  );
}

function Work({ plan }: { plan: Plan }) {
  const { id, revision } = plan;
  const { rack, cable } = useSearch({ strict: false }) as CrewSearch;
  const documents = useModelAt(id, revision, plan.spec as PlanSpec);
  const ticks = useTicks(id, revision);
  useScreen(useRequests(id, revision, rack));
  const { model } = documents;
  return (
    <div className={rack ? styles.rackPage : styles.page}>
      <Head plan={plan} rack={rack} />
      {!model ? (
        documents.isError ? (
          <ProblemView error={documents.error} onRetry={() => void documents.refetch()} />
        ) : (
          <Skeleton height={240} />
        )
      ) : rack ? (
        <RackWork
          key={rack}
          plan={id}
          revision={revision}
          model={model}
          rack={rack}
          cable={cable}
          ticks={ticks}
        />
      ) : (
        <Overview plan={id} revision={revision} model={model} ticks={ticks} />
      )}
    </div>
  );
}

function Head({ plan, rack }: { plan: Plan; rack: string | undefined }) {
  const { id, revision, head_revision } = plan;
  return (
    <header className={styles.head}>
      <h1>{rack ? `Rack ${rack}` : `Crew: ${plan.name}`}</h1>
      <p className={styles.muted}>
        {rack && (
          <>
            <Link to="/plans/$id/crew" params={{ id }} search={{ revision }}>
              All racks
            </Link>
            {" · "}
          </>
        )}
        <Link to="/plans/$id" params={{ id }} search={revision === head_revision ? {} : { revision }}>
          {rack ? plan.name : "Plan"}
        </Link>
        {` · revision ${revision}`}
        {revision !== head_revision && (
          <>
            {" · "}
            <Link to="/plans/$id/crew" params={{ id }} search={{ revision: head_revision }}>
              Revision {head_revision} is newer
            </Link>
          </>
        )}
      </p>
    </header>
  );
}

function useRequests(id: string, revision: number, rack: string | undefined): ScreenRequest[] {
  return useMemo(() => {
    const work = `/api/v1/plans/${id}/revisions/${revision}/work`;
    const query = rack ? `?rack=${encodeURIComponent(rack)}` : "?state=exception";
    return [
      { title: "Progress by rack", method: "GET", path: work },
      { title: rack ? "Marks of this rack" : "Problems", method: "GET", path: `${work}/marks${query}` },
    ];
  }, [id, revision, rack]);
}
