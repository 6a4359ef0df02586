/**
 * Computes a plan from a spec by a stateless call; the newest call wins, and the old picture
 * stays until its result arrives.
 */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { ApiError, api, take } from "@/api/client";
import type { Bom, Cables, Finding, PreviewResponse, Scene, Summary } from "@/api/types";
import { canonical, type PlanSpec } from "@/shared/plans/spec";
import { useSettled } from "@/ui/use-settled";

export interface Computed {
  spec: PlanSpec;
  summary: Summary;
  scene: Scene;
  bom: Bom;
  cables: Cables;
  /** Time from the call's start to its parsed response. */
  callMs: number;
}

export function previewKey(spec: PlanSpec, pin: number | null) {
  return ["preview", canonical(spec), pin] as const;
}

export async function preview(spec: PlanSpec, pin: number | null, signal?: AbortSignal): Promise<Computed> {
  const started = performance.now();
  const answer: PreviewResponse = await take(
    api.POST("/api/v1/plans/preview", {
      body: { spec, include: ["summary", "scene", "bom", "cables"], catalog_version: pin },
      signal,
    }),
  );
  const { summary, scene, bom, cables } = answer;
  if (!scene || !bom || !cables) throw new Error("The server returned no drawing. Try again.");
  return { spec, summary, scene, bom, cables, callMs: performance.now() - started };
}

export interface Preview {
  /** The newest plan that could be computed; it may be older than the spec. */
  computed: Computed | undefined;
  /** The request is running. */
  pending: boolean;
  /** The error if the spec cannot be computed. */
  error: unknown;
  /** The findings of the spec as it stands, computed or refused. */
  findings: Finding[];
  retry: () => void;
}

export function usePreview(spec: PlanSpec, pin: number | null, enabled: boolean): Preview {
  const settled = useSettled(spec);
  const query = useQuery({
    queryKey: previewKey(settled, pin),
    queryFn: ({ signal }) => preview(settled, pin, signal),
    enabled,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    retry: false,
  });
  // A refused spec has no placeholder: the last good plan is kept here instead.
  const last = useRef<Computed | undefined>(undefined);
  if (query.data) last.current = query.data;
  const error = query.error;
  const refused = error instanceof ApiError ? error.findings : [];
  return {
    computed: query.data ?? last.current,
    pending: query.isFetching || settled !== spec,
    error,
    findings: error ? refused : (query.data?.summary.findings ?? []),
    retry: () => void query.refetch(),
  };
}
