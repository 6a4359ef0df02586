import { Link, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Plan } from "@/api/types";
import type { PlanSpec } from "@/shared/plans/spec";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { RevisionLinks, SavedPlanPage } from "@/shared/shell/saved-plan";
import { Skeleton } from "@/ui/marks";
import { useTitle } from "@/ui/use-title";
import styles from "./crew.module.css";
import { Overview } from "./overview";
import { RackWork } from "./rack-work";
import { useTicks } from "./use-ticks";
import { useModelAt } from "./use-work";

interface CrewSearch {
  rack?: string;
  cable?: string;
}

export default function CrewPage() {
  useTitle("Crew");
  return (
    <SavedPlanPage
      title="Crew mode"
      reason="Crew mode ticks off the cables of a saved revision."
      className={styles.page}
    >
      {(plan) => <Work key={`${plan.id} ${plan.revision}`} plan={plan} />}
    </SavedPlanPage>
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
  return (
    <header className={styles.head}>
      <h1>{rack ? `Rack ${rack}` : `Crew: ${plan.name}`}</h1>
      <RevisionLinks plan={plan} page="crew" name={rack && plan.name}>
        {rack && (
          <>
            <Link to="/plans/$id/crew" params={{ id: plan.id }} search={{ revision: plan.revision }}>
              All racks
            </Link>
            {" · "}
          </>
        )}
      </RevisionLinks>
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
