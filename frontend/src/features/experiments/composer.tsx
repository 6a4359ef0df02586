/** The form of an experiment, with what it would take beside it. */
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo, useRef } from "react";
import { api, take } from "@/api/client";
import { Button } from "@/ui/button";
import { Section, TextInput } from "@/ui/form";
import { plural } from "@/units";
import { type Command, useCommands } from "../shared/commands";
import { type ScreenRequest, useScreen } from "../shared/curl";
import { Shell } from "../shared/shell";
import { getIn, type Json, setIn } from "../shared/spec";
import { ComposerSide } from "./composer-side";
import { type Draft, faultsOf, plansOf, pointsOf, withFaults, withPlans } from "./draft";
import { EmulationSection } from "./emulation-section";
import { engineOf } from "./engine";
import { EngineSection } from "./engine-section";
import { secsText, useEstimate } from "./estimate";
import styles from "./experiments.module.css";
import { FaultsSection } from "./faults-section";
import { messageAt, messagesOf } from "./messages";
import { PlansSection } from "./plans-section";
import { SweepSection } from "./sweep-section";
import { TrafficSection } from "./traffic-section";
import { usePlanChoices } from "./use-plans";
import { useRoutings } from "./use-routings";

export function Composer({ draft, change }: { draft: Draft; change: (draft: Draft) => void }) {
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
        <ComposerSide
          draft={draft}
          estimate={estimate}
          pending={pending}
          problem={start.error}
          error={error}
          messages={messages}
          onRetry={() => void retry()}
          onChange={change}
        />
      </div>
    </Shell>
  );
}
