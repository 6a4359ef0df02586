/** Other plans than the one on screen: saved plans, and plans in links. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api, take } from "@/api/client";
import { addressSpec } from "@/shared/plans/share";
import type { PlanSpec } from "@/shared/plans/spec";

export function useRecentPlans(limit = 12) {
  return useQuery({
    queryKey: ["plans", limit],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/plans", { params: { query: { limit, sort: "updated_at" } }, signal })),
  });
}

/** A link to an unsaved spec. */
export function useOpenSpec() {
  const navigate = useNavigate();
  return async (spec: PlanSpec) => {
    await navigate({ to: "/plans/new", search: { spec: await addressSpec(spec) } });
  };
}
