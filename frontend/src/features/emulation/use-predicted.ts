/** What the flow engine expects while things break: one prediction for each set of broken things, in steps over time. */
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, take } from "@/api/client";
import type { Experiment } from "@/api/types";
import { timeDomain } from "./axis";
import { brokenAt, type Session } from "./session";

export interface PredictedStep {
  x: number;
  goodput: number;
  abt: number;
}

/** More different sets than this are not asked for: a flapping cable has two, a long session a few. */
const MAX_SETS = 24;
const CARRIES = new Set(["link-rate", "link-loss", "link-delay"]);

interface Stretch {
  from: number;
  /** What carries nothing, by name. */
  failed: string[];
}

/** From when on which things are broken. */
export function stretchesOf(session: Pick<Session, "faults">, begin: number): Stretch[] {
  const times = [...new Set(session.faults.filter(({ state }) => state !== "failed").map((f) => f.at_secs))];
  const stretches: Stretch[] = [{ from: begin, failed: [] }];
  for (const at of times.sort((a, b) => a - b)) {
    const failed = brokenAt(session.faults, at)
      .filter(({ kind }) => !CARRIES.has(kind))
      .flatMap(({ targets }) => targets)
      .sort();
    stretches.push({ from: at, failed: [...new Set(failed)] });
  }
  return stretches;
}

/** Goodput and ABT in bits per second, headers taken off. */
export function usePredicted(session: Session, experiment: Experiment): PredictedStep[] {
  const { network, faults } = session;
  const [begin, end] = timeDomain(session);
  const stretches = useMemo(() => stretchesOf({ faults }, begin), [faults, begin]);
  const sets = useMemo(
    () =>
      [...new Map(stretches.map(({ failed }) => [failed.join(" "), failed])).entries()].slice(0, MAX_SETS),
    [stretches],
  );
  const queries = useQueries({
    queries: sets.map(([key, failed]) => ({
      queryKey: ["predicted", experiment.id, key],
      // A slice's prediction leaves out the rest of the plan: only the engine that made it knows how.
      enabled: network?.frame.whole === true && failed.length > 0,
      staleTime: Number.POSITIVE_INFINITY,
      retry: false,
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const answer = await take(
          api.POST("/api/v1/predict", {
            body: {
              plan: experiment.plan.spec,
              workload: experiment.workload,
              routing: network!.frame.predicted.routing,
              link_gbps: network!.frame.rate_bits_per_sec / 1e9,
              faults: [{ target: { names: failed }, at_secs: 0, kind: "down" }],
              engine: "flow",
              max_min: true,
              link_load: false,
              seed: network!.frame.seed,
            },
            signal,
          }),
        );
        return { abt: answer.abt_gbps * 1e9, total: (answer.maxmin?.total_gbps ?? Number.NaN) * 1e9 };
      },
    })),
  });
  const answers = queries.map(({ data }) => data);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the answers are a new list each time; their members are not
  return useMemo(() => {
    if (!network) return [];
    const { predicted, header_efficiency } = network.frame;
    const byKey = new Map(sets.map(([key], i) => [key, answers[i]]));
    const steps = stretches.flatMap(({ from, failed }): PredictedStep[] => {
      const answer =
        failed.length === 0
          ? { abt: predicted.abt_bits_per_sec, total: predicted.ideal_bits_per_sec }
          : byKey.get(failed.join(" "));
      if (!answer) return [];
      return [{ x: from, goodput: answer.total * header_efficiency, abt: answer.abt * header_efficiency }];
    });
    const changes = steps.filter(
      ({ goodput, abt }, i) => i === 0 || goodput !== steps[i - 1]!.goodput || abt !== steps[i - 1]!.abt,
    );
    const last = changes.at(-1);
    return last ? [...changes, { ...last, x: end }] : [];
  }, [network, stretches, sets, end, ...answers]);
}
