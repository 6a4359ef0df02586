import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api, take } from "@/api/client";
import type { SearchMetric } from "@/api/types";
import { AnswerForm, AnswerPage, AnswerResult, AnswerStatus } from "@/shared/answers/answer-page";
import { ExampleNote } from "@/shared/answers/example-note";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { Skeleton } from "@/ui/marks";
import { formatNumber, plural } from "@/units";
import { FrontView } from "./front-view";
import { initial, questionOf, type Values } from "./question";
import { QuestionForm } from "./question-form";
import { answered, type SearchDocument, type SearchState, useSearch } from "./use-search";

/**
 * `/search`: constraints and objectives on the left, the front on the right, updated as it is
 * found.
 */
export default function SearchPage() {
  const metrics = useQuery({
    queryKey: ["search-metrics"],
    queryFn: () => take(api.GET("/api/v1/search/metrics")),
  });
  const families = useQuery({ queryKey: ["families"], queryFn: () => take(api.GET("/api/v1/topologies")) });
  const [values, setValues] = useState(initial);
  const [submitted, setSubmitted] = useState(values);
  const search = useSearch();
  // A network of one's own has one plan: there is nothing to search.
  const listed = (families.data ?? []).filter(({ family }) => family !== "custom");
  const question = questionOf(
    values,
    listed.map(({ family }) => family),
  );
  const body = JSON.stringify(question);
  useScreen(
    useMemo<ScreenRequest[]>(
      () => [
        { title: "Search for plans", method: "POST", path: "/api/v1/search", body: JSON.parse(body) },
        { title: "Metrics that plans can be compared by", method: "GET", path: "/api/v1/search/metrics" },
        { title: "The example", method: "GET", path: "/api/v1/search/example" },
      ],
      [body],
    ),
  );
  return (
    <AnswerPage
      name="Search"
      lead={
        <>
          Tries thousands of plans of every family but custom and keeps those that no other beats. Modelled:
          prices are the catalog’s, throughput is ABT of all-to-all traffic on each family’s own routing.
          Families without switches lose nothing when switches fail.
        </>
      }
      problem={metrics.error ?? families.error}
      onRetry={() => void Promise.all([metrics.refetch(), families.refetch()])}
    >
      {metrics.data && families.data && (
        <>
          <AnswerForm
            action="Search"
            running={search.state === "running"}
            onStart={() => {
              setSubmitted(values);
              void search.start(question);
            }}
            onCancel={search.cancel}
          >
            <QuestionForm
              values={values}
              onValues={setValues}
              metrics={metrics.data.items}
              families={listed}
              findings={search.findings}
            />
          </AnswerForm>
          <Answer search={search} submitted={submitted} metrics={metrics.data.items} />
        </>
      )}
    </AnswerPage>
  );
}

interface AnswerProps {
  search: SearchState;
  submitted: Values;
  metrics: readonly SearchMetric[];
}

/** The answer, or before the first question the built-in answer. */
function Answer({ search, submitted, metrics }: AnswerProps) {
  const example = useQuery({
    queryKey: ["search-example"],
    queryFn: () => take(api.GET("/api/v1/search/example")),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const front = (shown: SearchState) => <FrontView search={shown} submitted={submitted} metrics={metrics} />;
  return (
    <AnswerResult running={search.state === "running"}>
      {search.state !== "idle" ? (
        <>
          <Status search={search} />
          {front(search)}
        </>
      ) : example.data ? (
        <>
          <ExampleNote secs={example.data.secs} press="Search">
            what the form asks at first
          </ExampleNote>
          {front(answered(example.data.result as unknown as SearchDocument))}
        </>
      ) : example.error ? (
        <ProblemView error={example.error} onRetry={() => void example.refetch()} />
      ) : (
        <Skeleton height={320} />
      )}
    </AnswerResult>
  );
}

function Status({ search }: { search: SearchState }) {
  const { progress, front } = search;
  const n = (value: number) => formatNumber(value);
  const plans = `${plural(front.length, "plan")} on the front`;
  const words = {
    idle: "",
    failed: "Correct the question to search.",
    cancelled: `Cancelled. ${plans} so far.`,
    done: front.length === 0 ? "No plan keeps the constraints." : `${plans}.`,
    running: progress
      ? progress.stage === "price"
        ? `Pricing: ${n(progress.done)} of ${n(progress.of)}`
        : `Throughput: ${n(progress.done)} of ${n(progress.of)}, ${plans}`
      : "Enumerating plans…",
  };
  return <AnswerStatus answer={search} words={words} />;
}
