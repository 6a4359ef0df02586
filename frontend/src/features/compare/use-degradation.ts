import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import type { Run } from "@/api/types";
import type { ComparedRef } from "@/shared/plans/refs";
import { canonical } from "@/shared/plans/spec";
import { useRunFeed } from "@/shared/runs/run-feed";
import { emptyLog, type RunLog, reduceLog } from "@/shared/runs/run-points";
import { sweepOf } from "./degradation";

/**
 * The prediction for these plans: the result of an earlier or current run of the same sweep;
 * otherwise the estimated cost of running it.
 */
export function useDegradation(refs: ComparedRef[] | undefined) {
  const client = useQueryClient();
  const body = refs && refs.length >= 2 ? sweepOf(refs) : null;
  const key = canonical(body ?? undefined);
  const estimate = useQuery({
    queryKey: ["estimate", key],
    enabled: body !== null,
    queryFn: ({ signal }) => take(api.POST("/api/v1/experiments/estimate", { body: body as never, signal })),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const hash = estimate.data?.content_hash;
  const known = useQuery<Run | null>({
    queryKey: ["run-of", hash],
    enabled: hash !== undefined,
    queryFn: async ({ signal }) => {
      const previous = await take(
        api.GET("/api/v1/experiments", { params: { query: { content_hash: hash } }, signal }),
      );
      for (const { id } of previous.items) {
        const runs = await take(
          api.GET("/api/v1/runs", {
            params: { query: { experiment: id, state: ["succeeded", "running", "queued"], limit: 1 } },
            signal,
          }),
        );
        if (runs.items[0]) return runs.items[0];
      }
      return null;
    },
  });
  const start = useMutation({
    mutationFn: async () => {
      const made = await take(api.POST("/api/v1/experiments", { body: body as never }));
      return take(api.POST("/api/v1/experiments/{id}/runs", { params: { path: { id: made.id } } }));
    },
    onSuccess: (run) => client.setQueryData(["run-of", hash], run),
  });
  const run = known.data ?? null;
  const { value, feed, error } = useRunFeed<RunLog | null>(run?.events_url ?? null, null, (log, events) =>
    reduceLog(log ?? emptyLog(run!), events),
  );
  return {
    estimate: estimate.data,
    run,
    log: value,
    feed,
    error: estimate.error ?? known.error ?? start.error ?? (feed === "refused" ? error : null),
    start: () => start.mutate(),
    starting: start.isPending,
  };
}
