import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { ApiError, api, take } from "@/api/client";
import { Button, buttonClass } from "@/ui/button";
import { Section, TextInput } from "@/ui/form";
import { Skeleton } from "@/ui/marks";
import { Segmented } from "@/ui/tabs";
import { plural } from "@/units";
import { type Command, useCommands } from "../shared/commands";
import { type ScreenRequest, useScreen } from "../shared/curl";
import { ProblemView } from "../shared/problem";
import type { ExperimentsSearch } from "../shared/run-url";
import { Shell } from "../shared/shell";
import { getIn, type Json, type JsonObject, readSpec, setIn } from "../shared/spec";
import { type Draft, faultsOf, plansOf, pointsOf, withFaults, withPlans } from "./draft";
import { EmulationSection } from "./emulation-section";
import { engineOf } from "./engine";
import { EngineSection } from "./engine-section";
import { EstimateView, secsText, useEstimate } from "./estimate";
import styles from "./experiments.module.css";
import { ExperimentsList } from "./experiments-list";
import { FaultsSection } from "./faults-section";
import { JsonView } from "./json-view";
import { messageAt, messagesOf, otherMessages } from "./messages";
import { PlansSection } from "./plans-section";
import { SweepSection } from "./sweep-section";
import { type Routing, TrafficSection } from "./traffic-section";
import { useDraft } from "./use-draft";
import { usePlanChoices } from "./use-plans";

/** The fields of the form, which show their own messages. */
const SHOWN = [
  "name",
  "plan",
  "workload",
  "routing",
  "faults",
  "link_gbps",
  "flow_gigabits",
  "seeds",
  "axes",
  "engine",
  "emulation",
];

/** Write an experiment and run it; and those that were written before. */
export default function ExperimentsPage() {
  const { draft, error: unreadable, change } = useDraft();
  useEffect(() => {
    document.title = "Experiments · Cubeyard";
  }, []);
  if (draft === null)
    return (
      <Shell>
        {unreadable ? (
          <>
            <ProblemView title="This experiment cannot be opened" error={unreadable} />
            <p style={{ padding: "0 16px" }}>
              <Link to="/experiments" search={{}} className={buttonClass()}>
                Begin a new one
              </Link>
            </p>
          </>
        ) : (
          <Skeleton height={320} />
        )}
      </Shell>
    );
  return <Composer draft={draft} change={change} />;
}

function Composer({ draft, change }: { draft: Draft; change: (draft: Draft) => void }) {
  const search = useSearch({ strict: false }) as ExperimentsSearch;
  const navigate = useNavigate();
  const choices = usePlanChoices();
  const routings = useRoutings(plansOf(draft));
  const { estimate, error, pending, retry } = useEstimate(draft);
  const messages = useMemo(() => messagesOf(error, draft), [error, draft]);
  const start = useMutation({
    mutationFn: async () => {
      const made = await take(api.POST("/api/v1/experiments", { body: draft as never }));
      return take(api.POST("/api/v1/experiments/{id}/runs", { params: { path: { id: made.id } } }));
    },
    onSuccess: (run) => void navigate({ to: "/runs/$id", params: { id: run.id } }),
  });
  const latest = useRef(draft);
  latest.current = draft;
  const set = useCallback(
    (path: string, value: Json | undefined) => {
      const next = setIn(latest.current, path, value);
      // A workload without parameters is still a workload.
      change(getIn(next, "workload") ? next : ({ ...next, workload: { kind: "all-to-all" } } as Draft));
    },
    [change],
  );
  const setSearch = (to: Partial<ExperimentsSearch>) =>
    void navigate({ from: "/experiments", to: ".", search: (old) => ({ ...old, ...to }), replace: true });

  const requests = useMemo<ScreenRequest[]>(
    () => [
      { title: "Write this experiment down", method: "POST", path: "/api/v1/experiments", body: draft },
      { title: "Run it, by its id", method: "POST", path: "/api/v1/experiments/{id}/runs" },
      {
        title: "How long it takes, saving nothing",
        method: "POST",
        path: "/api/v1/experiments/estimate",
        body: draft,
      },
      { title: "What was asked before", method: "GET", path: "/api/v1/experiments" },
    ],
    [draft],
  );
  useScreen(requests);
  const { mutate: run, isPending: starting } = start;
  const blocked = messages.size > 0 || starting;
  const commands = useMemo<Command[]>(
    () => [
      ...(blocked
        ? []
        : [
            {
              id: "run-experiment",
              title: "Run this experiment",
              group: "Experiment",
              icon: "play" as const,
              keys: "mod+Enter",
              run: () => run(),
            },
          ]),
      { id: "runs", title: "Go to the runs", group: "Pages", run: () => void navigate({ to: "/runs" }) },
    ],
    [blocked, run, navigate],
  );
  useCommands("experiments", commands);

  const points = pointsOf(draft);
  const realPackets = engineOf(draft) === "emulation";
  const others = otherMessages(messages, SHOWN);
  return (
    <Shell
      status={<span>{estimate ? `${plural(estimate.points, "point")}, ${secsText(estimate)}` : ""}</span>}
    >
      <div className={styles.page}>
        <form
          className={styles.form}
          aria-label="New experiment"
          onSubmit={(event) => {
            event.preventDefault();
            if (!blocked) run();
          }}
        >
          <div className={styles.fields}>
            <h1 className={styles.title}>New experiment</h1>
            <EngineSection draft={draft} onChange={change} />
            <PlansSection
              plans={plansOf(draft)}
              choices={choices}
              estimate={pending ? undefined : estimate}
              messages={messages}
              most={realPackets ? 1 : undefined}
              onChange={(plans) => change(withPlans(draft, plans))}
            />
            <TrafficSection
              draft={draft}
              routings={routings}
              messages={messages}
              realPackets={realPackets}
              set={set}
            />
            {realPackets && (
              <EmulationSection draft={draft} messages={messages} error={error} set={set} onChange={change} />
            )}
            <FaultsSection
              realPackets={realPackets}
              faults={faultsOf(draft)}
              messages={messages}
              onChange={(faults) => change(withFaults(draft, faults))}
            />
            {!realPackets && <SweepSection draft={draft} messages={messages} onChange={change} />}
            <Section title="Name">
              <TextInput
                aria-label="Name of the experiment"
                value={typeof draft.name === "string" ? draft.name : ""}
                placeholder="made from the plan and the traffic"
                maxLength={120}
                onChange={(event) => set("name", event.target.value || undefined)}
              />
              {messageAt(messages, "name") && <p className={styles.message}>{messageAt(messages, "name")}</p>}
            </Section>
          </div>
          <div className={styles.foot}>
            <span role="status" className={styles.verdict} data-bad={messages.size > 0 || undefined}>
              {messages.size > 0
                ? `${plural(messages.size, "field")} to correct`
                : pending
                  ? "Checking…"
                  : estimate
                    ? `${plural(points, "point")}, ${secsText(estimate)}`
                    : ""}
            </span>
            <Button type="submit" look="primary" icon="play" disabled={blocked}>
              {starting ? "Starting…" : "Run"}
            </Button>
          </div>
        </form>
        <div className={styles.side}>
          <div className={styles.bar}>
            <h2>This experiment</h2>
            <span className={styles.space} />
            <Segmented
              label="Show as"
              value={search.as ?? "estimate"}
              onChange={(as) => setSearch({ as: as === "json" ? as : undefined })}
              items={[
                { id: "estimate", label: "Estimate" },
                { id: "json", label: "JSON" },
              ]}
            />
          </div>
          {start.error && <ProblemView error={start.error} />}
          {others.length > 0 && (
            <ul className={styles.others} role="alert">
              {others.map((message) => (
                <li key={message}>{message}</li>
              ))}
            </ul>
          )}
          {search.as === "json" ? (
            <JsonView draft={draft} onChange={change} />
          ) : estimate ? (
            <div data-stale={pending} className={styles.estimated}>
              <EstimateView draft={draft} estimate={estimate} />
            </div>
          ) : error && !(error instanceof ApiError && error.status === 422) ? (
            <ProblemView error={error} onRetry={() => void retry()} />
          ) : error ? (
            <p className={styles.doc}>Once the marked fields are right, this says how long the run takes.</p>
          ) : (
            <Skeleton height={96} />
          )}
          <ExperimentsList q={search.q} onQ={(q) => setSearch({ q })} />
        </div>
      </div>
    </Shell>
  );
}

/** The routing schemes that serve all of these plans; a saved plan's family is known from its spec. */
function useRoutings(plans: readonly JsonObject[]): readonly Routing[] {
  const families = useQuery({
    queryKey: ["topologies"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/topologies", { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const ids = plans.flatMap(({ id }) => (typeof id === "string" ? [id] : []));
  const saved = useQuery({
    queryKey: ["families-of", ids],
    enabled: ids.length > 0,
    queryFn: ({ signal }) =>
      Promise.all(ids.map((id) => take(api.GET("/api/v1/plans/{id}", { params: { path: { id } }, signal })))),
    retry: false,
  });
  return useMemo(() => {
    const named = new Set(
      [...plans, ...(saved.data ?? []).map(({ spec }) => spec)]
        .map((plan) => readSpec(plan)?.topology.family)
        .filter((family) => family !== undefined),
    );
    const lists = (families.data ?? []).filter(({ family }) => named.has(family)).map((f) => f.routings);
    return (lists[0] ?? []).filter(({ name }) =>
      lists.every((list) => list.some((other) => other.name === name)),
    );
  }, [plans, families.data, saved.data]);
}
