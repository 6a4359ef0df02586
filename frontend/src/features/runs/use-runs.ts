/** The list of runs for the address's filters, and the actions to cancel and delete a run. */
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, take } from "@/api/client";
import type { RunsSearch } from "@/shared/runs/run-url";
import { isOver } from "@/shared/runs/runs";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { toast } from "@/ui/toast";
import { TYPING_MS, useSettled } from "@/ui/use-settled";

const PAGE = 50;
/** The list is reloaded at this interval while a run is active. */
const REFRESH_MS = 1500;

/** The runs for the address's filters, page by page; reloaded while one of them is active. */
export function useRuns({ state, kind, experiment, q }: RunsSearch) {
  const filter = {
    state: state && [state],
    kind: kind && [kind],
    experiment,
    q: useSettled(q, TYPING_MS) || undefined,
  };
  return useInfiniteQuery({
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
}

export function useRunActions() {
  const client = useQueryClient();
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
  return { cancel, remove };
}

/** The calls that the page makes. */
export function useRunRequests({ state, kind, experiment, q }: RunsSearch) {
  const requests = useMemo<ScreenRequest[]>(() => {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries({ state, kind, experiment, q }))
      if (value) query.set(key, value);
    return [{ title: "These runs", method: "GET", path: `/api/v1/runs${query.size > 0 ? `?${query}` : ""}` }];
  }, [state, kind, experiment, q]);
  useScreen(requests);
}
