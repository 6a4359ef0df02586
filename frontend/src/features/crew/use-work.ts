/**
 * The data of the crew's pages: the plan at one revision, which never changes, and the progress,
 * which others change too.
 */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, take } from "@/api/client";
import type { Mark } from "@/api/types";
import { createModel, type PlanModel } from "@/scene/model";
import type { PlanSpec } from "@/shared/plans/spec";

const ASK_AGAIN_MS = 10_000;

export const workKey = (plan: string, revision: number) => ["work", plan, revision] as const;

/**
 * Racks, devices and cables of a revision; cached while the page is open, so that a crew can
 * continue without a connection.
 */
export function useModelAt(plan: string, revision: number, spec: PlanSpec) {
  const documents = useQuery({
    queryKey: ["crew-documents", plan, revision],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const wanted = { params: { path: { id: plan }, query: { revision } }, signal };
      const [scene, cables] = await Promise.all([
        take(api.GET("/api/v1/plans/{id}/scene", wanted)),
        take(api.GET("/api/v1/plans/{id}/cables", wanted)),
      ]);
      return { scene, cables };
    },
  });
  const { data } = documents;
  const model = useMemo<PlanModel | null>(
    () => (data ? createModel(data.scene, data.cables, spec.topology) : null),
    [data, spec],
  );
  return { ...documents, model };
}

export function useProgress(plan: string, revision: number) {
  return useQuery({
    queryKey: [...workKey(plan, revision), "progress"],
    refetchInterval: ASK_AGAIN_MS,
    staleTime: 0,
    queryFn: ({ signal }) =>
      take(
        api.GET("/api/v1/plans/{id}/revisions/{revision}/work", {
          params: { path: { id: plan, revision } },
          signal,
        }),
      ),
  });
}

/** The marks of one rack, or of one state in the whole plan, all pages of them. */
export function useMarks(plan: string, revision: number, of: { rack: string } | { state: "exception" }) {
  return useQuery({
    queryKey: [...workKey(plan, revision), "marks", of],
    refetchInterval: ASK_AGAIN_MS,
    staleTime: 0,
    queryFn: async ({ signal }) => {
      const marks: Mark[] = [];
      for (let after: number | null = -1; after !== null; ) {
        const page: { items: Mark[]; next: number | null } = await take(
          api.GET("/api/v1/plans/{id}/revisions/{revision}/work/marks", {
            params: { path: { id: plan, revision }, query: { ...of, after } },
            signal,
          }),
        );
        marks.push(...page.items);
        after = page.next;
      }
      return marks;
    },
  });
}
