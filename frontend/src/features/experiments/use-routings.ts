import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, take } from "@/api/client";
import { type JsonObject, readSpec } from "@/shared/plans/spec";
import type { Routing } from "./traffic-section";

/**
 * The routing schemes that serve all of these plans; a saved plan's family is known from its spec.
 */
export function useRoutings(plans: readonly JsonObject[]): readonly Routing[] {
  const families = useQuery({
    queryKey: ["topologies"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/topologies", { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const ids = plans.flatMap(({ id }) => (typeof id === "string" ? [id] : []));
  const saved = useQuery({
    queryKey: ["families-of", ids],
    enabled: ids.length > 0,
    queryFn: ({ signal }) =>
      Promise.all(ids.map((id) => take(api.GET("/api/v1/plans/{id}", { params: { path: { id } }, signal })))),
    retry: false,
  });
  return useMemo(() => {
    const named = new Set(
      [...plans, ...(saved.data ?? []).map(({ spec }) => spec)]
        .map((plan) => readSpec(plan)?.topology.family)
        .filter((family) => family !== undefined),
    );
    const lists = (families.data ?? []).filter(({ family }) => named.has(family)).map((f) => f.routings);
    return (lists[0] ?? []).filter(({ name }) =>
      lists.every((list) => list.some((other) => other.name === name)),
    );
  }, [plans, families.data, saved.data]);
}
