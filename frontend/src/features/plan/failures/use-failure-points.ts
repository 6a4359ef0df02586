import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import { canonical, type PlanSpec } from "@/shared/plans/spec";
import {
  COARSE,
  type Failure,
  type FailureKind,
  faultsOf,
  type Points,
  type Prediction,
  SEED,
  slowestGbps,
} from "./points";

export type Reference = components["schemas"]["ReferenceNetwork"];

/** A network to predict. */
interface Network {
  spec: object;
  /** Rate of every link; null for the plan's rates. */
  linkGbps: number | null;
}

export interface Curves {
  plan: Points;
  /** The fat-tree with the same number of servers. */
  reference: Points;
}

const NOTHING: Curves = { plan: new Map(), reference: new Map() };

const PREDICTIONS = "under-failure";

/** A prediction, cached as long as the page is open: equal requests have equal results. */
function prediction({ spec, linkGbps }: Network, failure: Failure) {
  const body = {
    plan: spec as Record<string, unknown>,
    workload: { kind: "all-to-all" as const },
    faults: faultsOf(failure),
    max_min: false,
    link_gbps: linkGbps,
    seed: SEED,
  };
  return queryOptions({
    queryKey: [PREDICTIONS, body],
    queryFn: ({ signal }) =>
      take(api.POST("/api/v1/predict", { body: body as never, signal })) as Promise<Prediction>,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}

/** The fat-tree with the same number of servers, whose links have the rate of the plan's. */
function useReference(servers: number) {
  return useQuery<Reference>({
    queryKey: ["reference-network", servers],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/predict/reference", { params: { query: { servers } }, signal })),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}

/**
 * Predicts both networks over the share of failures: the coarse points one after the other, then
 * the exact one at `wanted`. One request at a time; a request that is no longer needed is
 * cancelled, and the server stops computing it.
 */
export function useFailurePoints(spec: PlanSpec, servers: number, kind: FailureKind, wanted: number) {
  const client = useQueryClient();
  const reference = useReference(servers);
  const key = canonical({ spec, kind });
  const [latest, setLatest] = useState({ key, curves: NOTHING });
  const [error, setError] = useState<unknown>(null);
  const curves = latest.key === key ? latest.curves : NOTHING;
  const other = reference.data?.spec;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `asked` identifies the spec and the kind
  useEffect(() => {
    let current = true;
    let takeBack = () => {};
    const ask = (network: Network, failure: Failure) => {
      const question = prediction(network, failure);
      takeBack = () => void client.cancelQueries({ queryKey: question.queryKey, exact: true });
      return client.fetchQuery(question);
    };
    const add = (network: keyof Curves, ratio: number, point: Prediction) =>
      setLatest((before) => {
        const known = before.key === key ? before.curves : NOTHING;
        return { key, curves: { ...known, [network]: new Map(known[network]).set(ratio, point) } };
      });
    const all = async () => {
      setError(null);
      for (const ratio of [...COARSE, wanted]) {
        const own = await ask({ spec, linkGbps: null }, { kind, ratio });
        if (!current) return;
        add("plan", ratio, own);
        if (other === undefined) continue;
        const linkGbps = slowestGbps(own);
        const point = await ask({ spec: other, linkGbps }, { kind, ratio });
        if (!current) return;
        add("reference", ratio, point);
      }
    };
    all().catch((failed: unknown) => {
      if (current) setError(failed);
    });
    return () => {
      current = false;
      takeBack();
    };
  }, [key, wanted, other, client]);
  return { curves, reference: reference.data, error: error ?? reference.error };
}

/** The prediction for the failure of one whole rack. */
export function useRackFailure(spec: PlanSpec, rack: string | null) {
  return useQuery({
    ...prediction({ spec, linkGbps: null }, { rack: rack ?? "" }),
    enabled: rack !== null,
  });
}
