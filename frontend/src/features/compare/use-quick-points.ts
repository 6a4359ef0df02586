/** The rows' own points, predicted at once and one after the other: the long run refines them. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import type { ComparedRef } from "@/shared/plans/refs";
import { canonical } from "@/shared/plans/spec";
import type { Point } from "@/shared/runs/run-points";
import { type Question, questionsOf } from "./degradation";

type Prediction = components["schemas"]["Prediction"];
type PredictRequest = components["schemas"]["PredictRequest"];

/** The first seed of a sweep, so that a quick point is one of the run's own. */
const SEED = 7;
const NOTHING: (Question & Point)[] = [];

const bodyOf = ({ id, revision, spec }: ComparedRef, { kind, ratio }: Question): PredictRequest =>
  ({
    plan: id ? { id, ...(revision && { revision }) } : spec,
    workload: { kind: "all-to-all" },
    faults: ratio > 0 ? [{ kind: "down", at_secs: 0, target: { kind, ratio } }] : [],
    max_min: false,
    seed: SEED,
  }) as PredictRequest;

/** Points of these plans as they are computed, and the first error. */
export function useQuickPoints(refs: ComparedRef[] | undefined) {
  const client = useQueryClient();
  const key = canonical(refs as never);
  const [latest, setLatest] = useState({ key, points: NOTHING });
  const [error, setError] = useState<unknown>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `asked` stands for the plans
  useEffect(() => {
    let current = true;
    const all = async () => {
      setError(null);
      for (const question of questionsOf(refs?.length ?? 0)) {
        const body = bodyOf(refs![question.topology]!, question);
        const result = await client.fetchQuery({
          queryKey: ["quick-point", body],
          queryFn: ({ signal }) => take(api.POST("/api/v1/predict", { body, signal })) as Promise<Prediction>,
          staleTime: Number.POSITIVE_INFINITY,
          retry: false,
        });
        if (!current) return;
        const point = { ...question, point: -1, seed: SEED, result } as Question & Point;
        setLatest((before) => ({
          key,
          points: [...(before.key === key ? before.points : NOTHING), point],
        }));
      }
    };
    setLatest({ key, points: NOTHING });
    all().catch((failed: unknown) => {
      if (current) setError(failed);
    });
    return () => {
      current = false;
    };
  }, [key, client]);
  return { points: latest.key === key ? latest.points : NOTHING, error };
}
