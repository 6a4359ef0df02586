import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import type { JsonObject } from "../shared/spec";

export type EmulationProfile = components["schemas"]["EmulationProfile"];

/** What of a plan can be emulated: the engine's catalogue of protocols, with their settings. */
export function useProfile(plan: JsonObject): EmulationProfile | undefined {
  const { data } = useQuery({
    queryKey: ["emulation-profile", plan],
    queryFn: async ({ signal }) => {
      const spec =
        typeof plan.id === "string"
          ? (await take(api.GET("/api/v1/plans/{id}", { params: { path: { id: plan.id } }, signal }))).spec
          : plan;
      return take(api.POST("/api/v1/emulation/profile", { body: { spec: spec as JsonObject }, signal }));
    },
    // A saved plan keeps its id when its spec changes.
    staleTime: 10_000,
    retry: false,
  });
  return data;
}
