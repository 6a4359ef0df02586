/** Data that the plan page derives from the server and from its own history. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { api, take } from "@/api/client";
import type { Summary } from "@/api/types";
import { canonical, type Json, type PlanSpec } from "@/shared/plans/spec";
import type { ScreenRequest } from "@/shared/server/curl";
import type { Family } from "../parameters/families";
import type { Against } from "../totals/totals-section";
import type { Computed } from "./preview";
import { usePlan } from "./store";

const REMEMBERED = 200;

export function useFamilies() {
  return useQuery({
    queryKey: ["topologies"],
    queryFn: async ({ signal }) =>
      (await take(api.GET("/api/v1/topologies", { signal }))) as unknown as Family[],
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Time from the last edit to the frame after its plan was shown. */
export function useReadyMs(computed: Computed | undefined): number | null {
  const [ms, setMs] = useState<number | null>(null);
  useEffect(() => {
    if (!computed) return;
    const frame = requestAnimationFrame(() =>
      setMs(Math.round(performance.now() - usePlan.getState().editedAtMs)),
    );
    return () => cancelAnimationFrame(frame);
  }, [computed]);
  return ms;
}

/**
 * The base for the changes of totals. Summaries are small, so all of the page's history is kept.
 */
export function useBase(
  computed: Computed | undefined,
  past: PlanSpec[],
  savedSummary: Summary | undefined,
  dirty: boolean,
) {
  const [choice, setChoice] = useState<Against | null>(null);
  const known = useRef(new Map<string, Summary>());
  if (computed) {
    known.current.set(canonical(computed.spec), computed.summary);
    if (known.current.size > REMEMBERED) known.current.delete(known.current.keys().next().value!);
  }
  const choices: { value: Against; label: string }[] = [
    { value: "previous", label: "Last change" },
    ...(savedSummary ? [{ value: "saved" as const, label: "Saved revision" }] : []),
    { value: "opened", label: "When opened" },
  ];
  const against =
    choices.find((c) => c.value === choice)?.value ?? (savedSummary && dirty ? "saved" : "previous");
  const specOf = against === "opened" ? past[0] : past.at(-1);
  const base =
    against === "saved"
      ? (savedSummary ?? null)
      : specOf
        ? (known.current.get(canonical(specOf)) ?? null)
        : null;
  return { against, base, choices, setAgainst: setChoice };
}

export function useRequests(
  spec: PlanSpec,
  id: string | undefined,
  revision: number | undefined,
): ScreenRequest[] {
  return useMemo(() => {
    const body = { spec: spec as Json, include: ["summary", "scene", "bom", "cables"] };
    const requests: ScreenRequest[] = [
      { title: "Compute this plan", method: "POST", path: "/api/v1/plans/preview", body },
      {
        title: "Export as a workbook",
        method: "POST",
        path: "/api/v1/exports/xlsx",
        body: { spec: spec as Json },
        output: "plan.xlsx",
      },
    ];
    if (id)
      requests.push(
        { title: "This saved plan", method: "GET", path: `/api/v1/plans/${id}?revision=${revision}` },
        { title: "Cables", method: "GET", path: `/api/v1/plans/${id}/cables?revision=${revision}` },
        {
          title: "Bill of materials",
          method: "GET",
          path: `/api/v1/plans/${id}/bom?revision=${revision}`,
        },
      );
    else
      requests.push({
        title: "Save this plan",
        method: "POST",
        path: "/api/v1/plans",
        body: { name: "My plan", spec: spec as Json },
      });
    return requests;
  }, [spec, id, revision]);
}
