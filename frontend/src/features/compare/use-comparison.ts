/**
 * The comparison of plans with one of them, the predictions for them, and the plans that can be
 * added.
 */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, take } from "@/api/client";
import type { CompareResponse } from "@/api/types";
import { EXAMPLES } from "@/shared/plans/examples";
import { type ComparedRef, resolveRef } from "@/shared/plans/refs";
import { predictedRows, withQuick } from "./degradation";
import { useDegradation } from "./use-degradation";
import { useQuickPoints } from "./use-quick-points";

/** A plan in the request for a comparison. */
export const bodyOf = ({ id, revision, spec, name }: ComparedRef) =>
  id ? { id, ...(revision && { revision }) } : { spec, name };

/** Plans to choose from. */
export interface PlanGroup {
  title: string;
  entries: { id: string; label: string; hint: string }[];
}

export function useComparison(refs: string[], base: number, rates: string[]) {
  const resolved = useQuery({
    queryKey: ["compare-refs", refs],
    queryFn: () => Promise.all(refs.map(resolveRef)),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const query = useQuery<CompareResponse>({
    queryKey: ["compare", refs, base, rates],
    enabled: resolved.data !== undefined && refs.length >= 2,
    placeholderData: (old, oldQuery) =>
      (oldQuery?.queryKey[1] as string[] | undefined)?.length === refs.length ? old : undefined,
    queryFn: ({ signal }) =>
      take(api.POST("/api/v1/compare", { body: { plans: resolved.data!.map(bodyOf), base, rates }, signal })),
  });
  const recent = useQuery({
    queryKey: ["plans", 12],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/plans", { params: { query: { limit: 12, sort: "updated_at" } }, signal })),
  });
  const degradation = useDegradation(resolved.data);
  const quick = useQuickPoints(resolved.data);
  const points = degradation.log?.points;
  const compared = query.data?.plans.length === refs.length ? query.data : undefined;
  const data = useMemo(
    () =>
      compared && {
        ...compared,
        // First what a network is built for: its throughput.
        rows: [...predictedRows(withQuick(points ?? [], quick.points), refs.length, base), ...compared.rows],
      },
    [compared, points, quick.points, refs.length, base],
  );
  const add = useMemo<PlanGroup[]>(
    () => [
      {
        title: "Examples, 2,048 servers each",
        entries: EXAMPLES.filter((e) => !refs.includes(`ex.${e.slug}`)).map((e) => ({
          id: `ex.${e.slug}`,
          label: e.title,
          hint: e.detail,
        })),
      },
      {
        title: "Saved plans",
        entries: (recent.data?.items ?? [])
          .filter((plan) => !refs.includes(plan.id))
          .map((plan) => ({ id: plan.id, label: plan.name, hint: plan.title })),
      },
    ],
    [refs, recent.data],
  );
  return { resolved, query, data, degradation, quickError: quick.error, add };
}
