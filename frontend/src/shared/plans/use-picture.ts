import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, take } from "@/api/client";
import { createModel } from "@/scene/model";
import { canonical, type PlanSpec } from "./spec";

/** The plan that a point was computed on, as the pictures need it. */
export function usePicture(spec: PlanSpec) {
  const query = useQuery({
    queryKey: ["picture", canonical(spec)],
    queryFn: async ({ signal }) => {
      const { summary, scene, cables } = await take(
        api.POST("/api/v1/plans/preview", {
          body: { spec, include: ["summary", "scene", "cables"] },
          signal,
        }),
      );
      if (!scene || !cables) throw new Error("The server returned no drawing. Try again.");
      return { summary, scene, cables };
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    retry: false,
  });
  const { data } = query;
  const model = useMemo(
    () => (data ? createModel(data.scene, data.cables, (data.summary.spec as PlanSpec).topology) : null),
    [data],
  );
  return { model, planHash: data?.summary.plan_hash, error: query.error, retry: query.refetch };
}
