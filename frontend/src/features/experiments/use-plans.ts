import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { api, take } from "@/api/client";
import { EXAMPLES } from "@/shared/plans/examples";
import { canonical, type JsonObject, readSpec } from "@/shared/plans/spec";

export interface PlanChoice {
  /** Equal for equal plans. */
  key: string;
  label: string;
  hint?: string;
  plan: JsonObject;
}

export const planKey = (plan: JsonObject): string =>
  typeof plan.id === "string" ? `id ${plan.id}` : `spec ${canonical(readSpec(plan)?.topology ?? plan)}`;

/** The plans that can be predicted (saved plans and examples), and the name of any plan. */
export function usePlanChoices() {
  const saved = useQuery({
    queryKey: ["plans", 50],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/plans", { params: { query: { limit: 50, sort: "updated_at" } }, signal })),
  });
  const groups = useMemo(() => {
    const choice = (label: string, hint: string, plan: JsonObject): PlanChoice => ({
      key: planKey(plan),
      label,
      hint,
      plan,
    });
    return [
      {
        title: "Saved plans",
        choices: (saved.data?.items ?? []).map(({ id, name, title }) => choice(name, title, { id })),
      },
      {
        title: "Examples, 2,048 servers each",
        choices: EXAMPLES.map(({ title, detail, spec }) => choice(title, detail, spec)),
      },
    ];
  }, [saved.data]);
  /** `title` is the server's name for it, once it has loaded. */
  const nameOf = useCallback(
    (plan: JsonObject, title?: string): string => {
      const key = planKey(plan);
      const known = groups.flatMap((group) => group.choices).find((choice) => choice.key === key);
      if (known) return known.label;
      if (title) return title;
      if (typeof plan.id === "string") return `Plan ${plan.id}`;
      return `Unsaved ${String(readSpec(plan)?.topology.family ?? "plan").replaceAll("_", "-")}`;
    },
    [groups],
  );
  return { groups, nameOf };
}
