import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import type { JsonObject } from "@/shared/plans/spec";

export type EmulationProfile = components["schemas"]["EmulationProfile"];

/** The spec of a draft's plan, which may be a saved one. */
export async function specOf(plan: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  if (typeof plan.id !== "string") return plan;
  const saved = await take(api.GET("/api/v1/plans/{id}", { params: { path: { id: plan.id } }, signal }));
  return saved.spec as JsonObject;
}

/** The options for emulating a plan: the engine's catalogue of protocols, with their settings. */
export function useProfile(plan: JsonObject): EmulationProfile | undefined {
  const { data } = useQuery({
    queryKey: ["emulation-profile", plan],
    queryFn: async ({ signal }) =>
      take(api.POST("/api/v1/emulation/profile", { body: { spec: await specOf(plan, signal) }, signal })),
    // A saved plan keeps its id when its spec changes.
    staleTime: 10_000,
    retry: false,
  });
  return data;
}
