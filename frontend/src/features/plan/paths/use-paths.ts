import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import { canonical, type PlanSpec } from "@/shared/plans/spec";

export type ServerPaths = components["schemas"]["ServerPaths"];
export type ServerPath = components["schemas"]["ServerPath"];

export interface Question {
  spec: PlanSpec;
  source: string;
  destination: string;
  /** Names of unplugged or failed items. */
  without: readonly string[];
}

/** The parallel paths; the previous result stays until the new one has loaded. */
export function usePaths({ spec, source, destination, without }: Question) {
  return useQuery({
    queryKey: ["paths", canonical(spec), source, destination, without],
    queryFn: ({ signal }) =>
      take(
        api.POST("/api/v1/plans/paths", {
          body: { spec: spec as never, source, destination, without: [...without] },
          signal,
        }),
      ),
    enabled: source !== "" && destination !== "",
    placeholderData: keepPreviousData,
  });
}
