import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { api, take } from "@/api/client";
import type { LifeQuestion } from "@/api/types";
import { AnswerForm, AnswerPage, AnswerResult, AnswerStatus } from "@/shared/answers/answer-page";
import { ExampleNote } from "@/shared/answers/example-note";
import { type ComparedRef, resolveRef } from "@/shared/plans/refs";
import { DEFAULT_SPEC, sameSpec } from "@/shared/plans/spec";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { Empty, Skeleton } from "@/ui/marks";
import { formatNumber } from "@/units";
import { LifeCharts } from "./life-charts";
import { LifeForm } from "./life-form";
import { LifeTables } from "./life-tables";
import { initial, questionOf } from "./question";
import { answered, type LifeDocument, type LifeState, useLife } from "./use-life";

const DEFAULT_PLAN = "ex.bcube";

/** A plan in the form of the API's requests. */
const planOf = ({ id, revision, spec }: ComparedRef): LifeQuestion["plan"] =>
  id ? { id, ...(revision && { revision }) } : { ...spec };

/**
 * `/life?plan=…`: years, visits, spares and rates on the left, the remaining capacity of the plan
 * on the right.
 */
export default function LifePage() {
  const { plan: ref = DEFAULT_PLAN } = useSearch({ strict: false }) as { plan?: string };
  const plan = useQuery({
    queryKey: ["life-plan", ref],
    queryFn: () => resolveRef(ref),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const rates = useQuery({
    queryKey: ["failure-rates"],
    queryFn: () => take(api.GET("/api/v1/life/rates")),
  });
  const standard = plan.data?.spec !== undefined && sameSpec(plan.data.spec, DEFAULT_SPEC);
  const [values, setValues] = useState(initial);
  const life = useLife();
  const question = useMemo(
    () => (plan.data ? questionOf(values, planOf(plan.data)) : null),
    [values, plan.data],
  );
  useScreen(
    useMemo<ScreenRequest[]>(
      () => [
        ...(question
          ? [
              {
                title: "Simulate this plan's life",
                method: "POST" as const,
                path: "/api/v1/life",
                body: question as ScreenRequest["body"],
              },
            ]
          : []),
        { title: "Failure rates", method: "GET", path: "/api/v1/life/rates" },
        { title: "The example", method: "GET", path: "/api/v1/life/example" },
      ],
      [question],
    ),
  );
  return (
    <AnswerPage
      name="Life"
      title={`Life${plan.data?.name ? ` of ${plan.data.name}` : ""}`}
      lead={
        <>
          Parts fail over the years by published and assumed rates; visits swap what is broken, as far as the
          spares last. Modelled: servers are exact for every seed, throughput is ABT of all-to-all traffic on
          the plan’s own routing.
        </>
      }
      problem={plan.error ?? rates.error}
      onRetry={() => void Promise.all([plan.refetch(), rates.refetch()])}
    >
      {rates.data && question && (
        <>
          <AnswerForm
            action="Simulate"
            running={life.state === "running"}
            onStart={() => void life.start(question)}
            onCancel={life.cancel}
          >
            <LifeForm
              values={values}
              onValues={setValues}
              rates={rates.data.items}
              findings={life.findings}
            />
          </AnswerForm>
          <Answer life={life} seeds={values.seeds} standard={standard} />
        </>
      )}
    </AnswerPage>
  );
}

/**
 * The answer, or before the first question the built-in answer, which is for the standard plan
 * only.
 */
function Answer({ life, seeds, standard }: { life: LifeState; seeds: number; standard: boolean }) {
  const example = useQuery({
    queryKey: ["life-example"],
    queryFn: () => take(api.GET("/api/v1/life/example")),
    enabled: standard,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const idle = life.state === "idle";
  const shown =
    idle && standard && example.data ? answered(example.data.result as unknown as LifeDocument) : life;
  return (
    <AnswerResult running={life.state === "running"}>
      {shown !== life && example.data && (
        <ExampleNote secs={example.data.secs} press="Simulate">
          the paper’s container with the values that the form starts with
        </ExampleNote>
      )}
      {idle && example.isFetching ? <Skeleton height={320} /> : <Status life={shown} />}
      <LifeCharts life={shown} seeds={seeds} />
      {shown.document && <LifeTables document={shown.document} />}
    </AnswerResult>
  );
}

function Status({ life }: { life: LifeState }) {
  const { state, progress, plan, document } = life;
  const n = (value: number) => formatNumber(value);
  if (state === "idle")
    return <Empty title="No simulation yet">Set years, visits and rates, and press Simulate.</Empty>;
  const words = {
    idle: "",
    failed: "Correct the question to simulate.",
    cancelled: "Cancelled.",
    done: document ? `${document.title}: ${n(document.seeds)} lives of ${n(document.servers)} servers.` : "",
    running: !progress
      ? `Planning${plan ? ` ${plan.title}` : ""}…`
      : progress.stage === "lives"
        ? `Lives: ${n(progress.done)} of ${n(progress.of)}`
        : `Throughput: ${n(progress.done)} of ${n(progress.of)} states`,
  };
  return <AnswerStatus answer={life} words={words} />;
}
