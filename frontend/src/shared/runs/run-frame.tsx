/**
 * The frame around every run, common to all engines: its name, progress, whether the view is live,
 * and how to stop it.
 */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { api, take } from "@/api/client";
import type { Experiment, Run } from "@/api/types";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { type Command, useCommands } from "@/shared/shell/commands";
import { Shell } from "@/shared/shell/shell";
import { Button, IconButton } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { BasisBadge } from "@/ui/marks";
import { toast } from "@/ui/toast";
import { useTitle } from "@/ui/use-title";
import { formatCount, formatPercent, plural } from "@/units";
import type { FeedState } from "./run-feed";
import styles from "./run-frame.module.css";
import { RunMark } from "./run-mark";
import { durationText, isOver, type LiveRun, remainingText } from "./runs";
import { UntilComplete } from "./until-complete";

/**
 * The properties of a view of a run. There is one view per engine; the app chooses (see
 * app/run-route.tsx).
 */
export interface RunViewProps {
  run: Run;
  /** Null for the run of a figure. */
  experiment: Experiment | null;
}

export function RunFrame({
  run,
  live,
  feed,
  error,
  basis = "modelled",
  actions,
  children,
}: {
  run: Run;
  live: LiveRun;
  feed: FeedState;
  error: unknown;
  basis?: "modelled" | "measured";
  /** Actions in the bar, such as downloads. */
  actions?: ReactNode;
  children: ReactNode;
}) {
  const over = isOver(live.state);
  const repeatable = over && run.experiment_id !== null;
  const orders = useRunOrders(run, over);
  const { cancel, again, remove } = orders;
  useTitle(run.title);

  useRunScreen(run, over, repeatable, orders);
  const problem = cancel.error ?? again.error ?? remove.error ?? (feed === "refused" ? error : null);

  return (
    <Shell
      actions={actions}
      status={
        <>
          <span role="status" data-testid="feed" data-feed={feed}>
            {feedText(feed)}
          </span>
          <span>{`${formatCount(live.points_done)} of ${plural(live.points_total, "point")}`}</span>
          {run.engine_version && (
            <span title={run.engine_version}>{`Engine ${run.engine_version.split("+", 1)[0]}`}</span>
          )}
        </>
      }
    >
      <div className={styles.page}>
        <RunHead run={run} live={live} basis={basis}>
          <RunControls basis={basis} over={over} repeatable={repeatable} orders={orders} />
        </RunHead>
        {live.reason !== "" && (
          <p className={styles.reason} data-state={live.state}>
            <Icon name={live.state === "failed" ? "error" : "info"} />
            {live.reason}
          </p>
        )}
        {feed === "lost" && (
          <p className={styles.reason} role="alert">
            <Icon name="offline" />
            Connection lost. Data may be out of date. Reconnecting… No results are lost.
          </p>
        )}
        {problem !== null && problem !== undefined && <ProblemView error={problem} />}
        <UntilComplete state={run.state} feed={feed}>
          {children}
        </UntilComplete>
      </div>
    </Shell>
  );
}

/** The actions on a run: cancel it, run its experiment again, delete it. */
function useRunOrders(run: Run, over: boolean) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const refresh = () => {
    void client.invalidateQueries({ queryKey: ["run", run.id] });
    void client.invalidateQueries({ queryKey: ["runs"] });
  };
  const cancel = useMutation({
    mutationFn: () => take(api.POST("/api/v1/runs/{id}/cancel", { params: { path: { id: run.id } } })),
    onSuccess: refresh,
  });
  const again = useMutation({
    mutationFn: () =>
      take(api.POST("/api/v1/experiments/{id}/runs", { params: { path: { id: run.experiment_id! } } })),
    onSuccess: (made) => {
      refresh();
      void navigate({ to: "/runs/$id", params: { id: made.id } });
    },
  });
  const remove = useMutation({
    mutationFn: () => take(api.DELETE("/api/v1/runs/{id}", { params: { path: { id: run.id } } })),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["runs"] });
      client.removeQueries({ queryKey: ["run", run.id] });
      toast(`Deleted the run of ${run.title}`);
      await navigate({ to: "/runs" });
    },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end of the run is the trigger
  useEffect(() => {
    if (over) refresh();
  }, [over]);
  return { cancel, again, remove };
}

type Orders = ReturnType<typeof useRunOrders>;

/** The run as REST calls, and its commands in the palette. */
function useRunScreen(run: Run, over: boolean, repeatable: boolean, { cancel, again }: Orders): void {
  const navigate = useNavigate();
  const requests = useMemo<ScreenRequest[]>(
    () => [
      { title: "Run status", method: "GET", path: `/api/v1/runs/${run.id}` },
      { title: "Stream of its frames", method: "GET", path: run.events_url },
      { title: "Results as CSV", method: "GET", path: `${run.results_url}?format=csv` },
      ...(over
        ? ([{ title: "Delete this run", method: "DELETE", path: `/api/v1/runs/${run.id}` }] as const)
        : ([{ title: "Cancel this run", method: "POST", path: `/api/v1/runs/${run.id}/cancel` }] as const)),
    ],
    [run.id, run.events_url, run.results_url, over],
  );
  useScreen(requests);
  const { mutate: stop } = cancel;
  const { mutate: repeat } = again;
  const commands = useMemo<Command[]>(
    () => [
      ...(over
        ? []
        : [
            {
              id: "cancel-run",
              title: "Cancel this run",
              group: "Run",
              icon: "close" as const,
              run: () => stop(),
            },
          ]),
      ...(repeatable
        ? [
            {
              id: "repeat-run",
              title: "Run it again",
              group: "Run",
              icon: "play" as const,
              run: () => repeat(),
            },
          ]
        : []),
      { id: "runs", title: "Go to the runs", group: "Pages", run: () => void navigate({ to: "/runs" }) },
    ],
    [over, repeatable, stop, repeat, navigate],
  );
  useCommands("run", commands);
}

/** The name of the run and its progress. */
function RunHead({
  run,
  live,
  basis,
  children,
}: {
  run: Run;
  live: LiveRun;
  basis: "modelled" | "measured";
  children: ReactNode;
}) {
  const over = isOver(live.state);
  return (
    <div className={styles.head}>
      <div className={styles.titles}>
        <p>
          <Link to="/runs">Runs</Link> / {run.kind}
        </p>
        <h1>{run.title}</h1>
      </div>
      <BasisBadge basis={basis} />
      <span role="status">
        <RunMark state={live.state} />
      </span>
      {over ? (
        <span className={styles.muted}>{tookText(run)}</span>
      ) : (
        <>
          <progress max={1} value={live.progress} aria-label="Progress of the run" />
          <span>{formatPercent(live.progress)}</span>
          <span className={styles.muted}>{remainingText(live.remaining_secs)}</span>
        </>
      )}
      <span className={styles.space} />
      {children}
    </div>
  );
}

/** Cancels a run; runs one that is over again, or deletes it once that is confirmed. */
function RunControls({
  over,
  repeatable,
  orders,
  basis,
}: {
  over: boolean;
  repeatable: boolean;
  orders: Orders;
  basis: "modelled" | "measured";
}) {
  const { cancel, again, remove } = orders;
  const [confirming, setConfirming] = useState(false);
  return (
    <>
      {!over && (
        <Button icon="close" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
          {basis === "measured" ? "End run" : "Cancel"}
        </Button>
      )}
      {repeatable && (
        <Button
          icon="play"
          data-guide={over && basis === "measured" ? "run-again" : undefined}
          disabled={again.isPending}
          onClick={() => again.mutate()}
        >
          Run again
        </Button>
      )}
      {over &&
        (confirming ? (
          <>
            <Button disabled={remove.isPending} onClick={() => remove.mutate()}>
              Delete permanently
            </Button>
            <Button look="quiet" onClick={() => setConfirming(false)}>
              Keep
            </Button>
          </>
        ) : (
          <IconButton icon="trash" label="Delete this run" onClick={() => setConfirming(true)} />
        ))}
    </>
  );
}

function feedText(feed: FeedState): string {
  switch (feed) {
    case "connecting":
      return "Connecting to the run…";
    case "live":
      return "Live";
    case "lost":
      return "Connection lost, reconnecting";
    case "over":
      return "Complete: all frames received";
    case "refused":
      return "This run cannot be followed live";
  }
}

function tookText(run: Run): string {
  if (!run.started_at || !run.finished_at) return "";
  return `took ${durationText((Date.parse(run.finished_at) - Date.parse(run.started_at)) / 1000)}`;
}
