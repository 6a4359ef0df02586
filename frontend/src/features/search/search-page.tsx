import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api, take } from "@/api/client";
import type { SearchMetric } from "@/api/types";
import { ExampleNote } from "@/shared/answers/example-note";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { Shell } from "@/shared/shell/shell";
import { Button } from "@/ui/button";
import { Skeleton } from "@/ui/marks";
import { UnreadableInputs } from "@/ui/unreadable";
import { useTitle } from "@/ui/use-title";
import { formatNumber } from "@/units";
import { FrontView } from "./front-view";
import { initial, questionOf, type Values } from "./question";
import { QuestionForm } from "./question-form";
import styles from "./search.module.css";
import { answered, type SearchDocument, type SearchState, useSearch } from "./use-search";

/**
 * `/search`: constraints and objectives on the left, the front on the right, updated as it is
 * found.
 */
export default function SearchPage() {
  useTitle("Search");
  const metrics = useQuery({
    queryKey: ["search-metrics"],
    queryFn: () => take(api.GET("/api/v1/search/metrics")),
  });
  const families = useQuery({ queryKey: ["families"], queryFn: () => take(api.GET("/api/v1/topologies")) });
  const [values, setValues] = useState(initial);
  const [asked, setAsked] = useState(values);
  const [unreadable, setUnreadable] = useState(0);
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
  const running = search.state === "running";
  const problem = metrics.error ?? families.error;
  return (
    <Shell>
      <div className={styles.page}>
        <h1>Search</h1>
        <p className={styles.lead}>
          Tries thousands of plans of every family but custom and keeps those that no other beats. Modelled:
          prices are the catalog’s, throughput is ABT of all-to-all traffic on each family’s own routing.
          Families without switches lose nothing when switches fail.
        </p>
        {problem ? (
          <ProblemView
            error={problem}
            onRetry={() => void Promise.all([metrics.refetch(), families.refetch()])}
          />
        ) : !metrics.data || !families.data ? (
          <Skeleton height={320} />
        ) : (
          <div className={styles.columns}>
            <form
              className={styles.form}
              aria-label="Question"
              onSubmit={(event) => {
                event.preventDefault();
                setAsked(values);
                void search.start(question);
              }}
            >
              <UnreadableInputs onCount={setUnreadable}>
                <QuestionForm
                  values={values}
                  onValues={setValues}
                  metrics={metrics.data.items}
                  families={listed}
                  findings={search.findings}
                />
              </UnreadableInputs>
              <p className={styles.actions}>
                <Button look="primary" type="submit" disabled={running || unreadable > 0}>
                  Search
                </Button>
                {running && (
                  <Button type="button" onClick={search.cancel}>
                    Cancel
                  </Button>
                )}
              </p>
            </form>
            <Answer search={search} asked={asked} metrics={metrics.data.items} />
          </div>
        )}
      </div>
    </Shell>
  );
}

interface AnswerProps {
  search: SearchState;
  asked: Values;
  metrics: readonly SearchMetric[];
}

/** The answer, or before the first question the built-in answer. */
function Answer({ search, asked, metrics }: AnswerProps) {
  const example = useQuery({
    queryKey: ["search-example"],
    queryFn: () => take(api.GET("/api/v1/search/example")),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const front = (shown: SearchState) => <FrontView search={shown} asked={asked} metrics={metrics} />;
  return (
    <section className={styles.result} aria-label="Result" aria-busy={search.state === "running"}>
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
    </section>
  );
}

function Status({ search }: { search: SearchState }) {
  const { state, progress, front } = search;
  const n = (value: number) => formatNumber(value);
  if (state === "failed" && search.findings.length === 0) return <ProblemView error={search.error} />;
  const plans = `${n(front.length)} ${front.length === 1 ? "plan" : "plans"} on the front`;
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
  }[state];
  return (
    <>
      <p role="status" className={styles.status}>
        {words}
      </p>
      {state === "running" && (
        <progress
          className={styles.progress}
          aria-label="Progress"
          max={progress?.of ?? 1}
          value={progress?.done ?? 0}
        />
      )}
    </>
  );
}
