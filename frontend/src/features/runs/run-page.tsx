import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { type ComponentType, Suspense } from "react";
import { api, take } from "@/api/client";
import type { RunViewProps } from "@/shared/runs/run-frame";
import { ProblemView } from "@/shared/server/problem";
import { Shell } from "@/shared/shell/shell";
import { Skeleton } from "@/ui/marks";

/**
 * Which view shows which kind of run: `views` by the experiment's engine, `figure` for a run of a
 * figure.
 */
export interface RunViews {
  figure: ComponentType<RunViewProps>;
  engines: Readonly<Record<string, ComponentType<RunViewProps>>>;
}

/** Keyed by the run, so that the state of one run is not reused for the next. */
export default function RunPage({ views }: { views: RunViews }) {
  const { id } = useParams({ strict: false }) as { id: string };
  const run = useQuery({
    queryKey: ["run", id],
    queryFn: ({ signal }) => take(api.GET("/api/v1/runs/{id}", { params: { path: { id } }, signal })),
    refetchOnMount: "always",
  });
  const experimentId = run.data?.experiment_id ?? null;
  const experiment = useQuery({
    queryKey: ["experiment", experimentId],
    enabled: experimentId !== null,
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/experiments/{id}", { params: { path: { id: experimentId! } }, signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const problem = run.error ?? experiment.error;
  if (problem && !run.data)
    return (
      <Shell>
        <h1 className="visually-hidden">Run</h1>
        <ProblemView
          title="This run cannot be shown"
          error={problem}
          onRetry={() => void (run.isError ? run.refetch() : experiment.refetch())}
        >
          <Link to="/runs">All runs</Link>
        </ProblemView>
      </Shell>
    );
  const ready = run.data && (experimentId === null || experiment.data);
  if (!ready)
    return (
      <Shell>
        <div style={{ padding: 16 }}>
          <Skeleton height={320} />
        </div>
      </Shell>
    );
  const View = experiment.data ? views.engines[experiment.data.engine] : views.figure;
  if (!View)
    return (
      <Shell>
        <h1 className="visually-hidden">Run</h1>
        <ProblemView
          title="This run cannot be shown"
          error={new Error(`There is no view for the engine “${experiment.data?.engine}”.`)}
        />
      </Shell>
    );
  return (
    <Suspense fallback={<Shell>{null}</Shell>}>
      <View key={id} run={run.data!} experiment={experiment.data ?? null} />
    </Suspense>
  );
}
