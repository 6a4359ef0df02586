/** The frame of pages about one revision of a saved plan. */
import { Link, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Plan } from "@/api/types";
import { useLastPlan } from "@/shared/plans/last-plan";
import { usePlanAt } from "@/shared/plans/use-plan-at";
import { ProblemView } from "@/shared/server/problem";
import { Empty, Skeleton } from "@/ui/marks";
import styles from "./saved-plan.module.css";
import { Shell } from "./shell";

/** The id of an unsaved plan in the address. */
const UNSAVED = "new";

/** Shows `children` for the plan in the address; without a plan, the reason. */
export function SavedPlanPage({
  title,
  reason,
  className,
  children,
}: {
  title: string;
  /** Why the plan must be saved. */
  reason: string;
  className: string | undefined;
  children: (plan: Plan) => ReactNode;
}) {
  const { id } = useParams({ strict: false }) as { id: string };
  return (
    <Shell>
      {id === UNSAVED ? (
        <div className={className}>
          <h1>{title}</h1>
          <SaveFirst reason={reason} />
        </div>
      ) : (
        <Opened id={id} title={title} className={className}>
          {children}
        </Opened>
      )}
    </Shell>
  );
}

function SaveFirst({ reason }: { reason: string }) {
  const lastPlan = useLastPlan((state) => state.href);
  return (
    <Empty title="Save the plan first">
      <p>{reason}</p>
      <Link to={lastPlan as "/"}>Back to the plan</Link>
    </Empty>
  );
}

function Opened({
  id,
  title,
  className,
  children,
}: {
  id: string;
  title: string;
  className: string | undefined;
  children: (plan: Plan) => ReactNode;
}) {
  const { revision } = useSearch({ strict: false }) as { revision?: number };
  const plan = usePlanAt(id, revision);
  if (plan.data) return children(plan.data);
  return (
    <div className={className}>
      <h1>{title}</h1>
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

/** Links to the plan and to the page of its newest revision. */
export function RevisionLinks({
  plan: { id, revision, head_revision },
  page,
  name = "Plan",
  children,
}: {
  plan: Plan;
  page: "as-built" | "crew";
  name?: string;
  children?: ReactNode;
}) {
  return (
    <p className={styles.links}>
      {children}
      <Link to="/plans/$id" params={{ id }} search={revision === head_revision ? {} : { revision }}>
        {name}
      </Link>
      {` · revision ${revision}`}
      {revision !== head_revision && (
        <>
          {" · "}
          <Link to={`/plans/$id/${page}`} params={{ id }} search={{ revision: head_revision }}>
            Revision {head_revision} is newer
          </Link>
        </>
      )}
    </p>
  );
}
