/** A saved plan at one revision. */
import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";

/** The plan, at its head if no revision is given. */
export function usePlanAt(id: string, revision: number | undefined) {
  return useQuery({
    queryKey: ["plan", id, revision ?? null],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/plans/{id}", { params: { path: { id }, query: { revision } }, signal })),
  });
}
