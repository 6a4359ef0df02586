import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useId, useMemo, useState } from "react";
import { api, take } from "@/api/client";
import type { Figure, Run } from "@/api/types";
import type { Json } from "@/shared/plans/spec";
import { aboutText, isOver, type LiveRun } from "@/shared/runs/runs";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { type Command, useCommands } from "@/shared/shell/commands";
import { Shell } from "@/shared/shell/shell";
import { Button } from "@/ui/button";
import { NumberInput, Select } from "@/ui/form";
import { BasisBadge, Empty, Skeletons } from "@/ui/marks";
import { UnreadableInputs } from "@/ui/unreadable";
import { useTitle } from "@/ui/use-title";
import { saveFile } from "@/units/save-file";
import { ResultView, rowsCsv } from "./figure-result";
import { originText, seedsOf, summaryText } from "./figures";
import styles from "./figures.module.css";
import { FidelityNote, HostNote } from "./measured";
import { RunLine } from "./run-line";
import { useRun } from "./use-run";
import { VerdictSummary } from "./verdict-mark";

const DEFAULT_SEEDS = 3;

/** Keyed by the figure: its seeds, its run and its errors are not the next one's. */
export default function FigurePage() {
  const { id } = useParams({ strict: false }) as { id: string };
  return <FigureView key={id} id={id} />;
}

function FigureView({ id }: { id: string }) {
  const [options, setOptions] = useState<RunOptions>({ seeds: null, whole: false });
  const run = useFigureRun(id, options);
  const { query, figure, shown, now, busy, problem } = run;
  useTitle(figure?.title ?? "Figure");
  useFigureScreen(id, options, run);

  return (
    <Shell
      actions={
        figure?.result && (
          <Button icon="export" onClick={() => saveFile(rowsCsv(figure.result!), `${figure.id}.csv`)}>
            CSV
          </Button>
        )
      }
      status={figure && <span>{`${figure.title}: ${summaryText(figure)}`}</span>}
    >
      <div className={styles.page}>
        {query.isError && !figure ? (
          <>
            <h1 className="visually-hidden">Figure</h1>
            <ProblemView
              title="This figure cannot be shown"
              error={query.error}
              onRetry={() => void query.refetch()}
            >
              <Link to="/figures">All figures</Link>
            </ProblemView>
          </>
        ) : !figure ? (
          <Skeletons count={10} />
        ) : (
          <>
            <FigureHead figure={figure} run={run} options={options} onAsk={setOptions} />
            <p className={styles.origin} data-testid="origin">
              {shown?.partial
                ? "The run under way, as far as it is. The verdicts are of the last result."
                : originText(figure)}
            </p>
            {figure.basis === "measured" && <HostNote />}
            <RunLine id={run.latest?.id ?? null} run={now} busy={busy} />
            {problem !== null && problem !== undefined && <ProblemView error={problem} />}
            {shown?.result ? (
              <ResultView figure={shown} result={shown.result} />
            ) : (
              <Empty
                title={busy ? (figure.basis === "measured" ? "Measuring…" : "Computing…") : "Not run yet"}
              >
                <p>{busy ? "You can leave this page." : "Run it to see the paper’s numbers beside ours."}</p>
              </Empty>
            )}
          </>
        )}
      </div>
    </Shell>
  );
}

/** The figure with its latest run: the actions that start and cancel it, and the partial result. */
function useFigureRun(id: string, options: RunOptions) {
  const client = useQueryClient();
  const query = useQuery({
    queryKey: ["figure", id],
    refetchOnMount: "always",
    queryFn: ({ signal }) => take(api.GET("/api/v1/figures/{id}", { params: { path: { id } }, signal })),
  });
  const figure = query.data;
  const setRun = (run: Run) => {
    // An answer that is older than the run must not hide it.
    void client.cancelQueries({ queryKey: ["figure", id] });
    client.setQueryData<Figure>(["figure", id], (old) => old && { ...old, latest_run: run });
  };
  const start = useMutation({
    mutationFn: () =>
      take(
        api.POST("/api/v1/figures/{id}/runs", {
          params: { path: { id } },
          body: requestOf(options),
        }),
      ),
    onSuccess: setRun,
  });
  const latest = figure?.latest_run ?? null;
  const {
    live,
    partial,
    error: lost,
  } = useRun(latest && !isOver(latest.state) ? latest.id : null, () => {
    void client.invalidateQueries({ queryKey: ["figure", id] });
    void client.invalidateQueries({ queryKey: ["figures"] });
  });
  const cancel = useMutation({
    mutationFn: (run: string) =>
      take(api.POST("/api/v1/runs/{id}/cancel", { params: { path: { id: run } } })),
    onSuccess: setRun,
  });
  const now: LiveRun | null = latest && { ...latest, ...live };
  const busy = start.isPending || (now !== null && !isOver(now.state) && lost === null);
  // While a run has something to show, that; the last good result is back if the run does not end
  // well.
  const shown = useMemo(
    () =>
      figure && busy && partial
        ? {
            ...figure,
            result: partial,
            partial: true,
            result_from: "run" as const,
            result_run: latest?.id ?? null,
          }
        : figure && { ...figure, partial: false },
    [figure, busy, partial, latest?.id],
  );
  const problem = start.error ?? cancel.error ?? lost;
  return { query, figure, latest, shown, now, busy, start, cancel, problem };
}

type FigureRun = ReturnType<typeof useFigureRun>;

/** The figure as REST calls, and its command in the palette. */
function useFigureScreen(id: string, options: RunOptions, { latest, busy, start }: FigureRun): void {
  const requests = useMemo<ScreenRequest[]>(
    () => [
      { title: "This figure", method: "GET", path: `/api/v1/figures/${id}` },
      {
        title: "Run this figure again",
        method: "POST",
        path: `/api/v1/figures/${id}/runs`,
        body: requestOf(options) as Json,
      },
      ...(latest
        ? ([
            { title: "Stream of the latest run", method: "GET", path: latest.events_url },
            { title: "Cancel the run", method: "POST", path: `/api/v1/runs/${latest.id}/cancel` },
          ] as const)
        : []),
    ],
    [id, options, latest],
  );
  useScreen(requests);
  const { mutate: run } = start;
  const commands = useMemo<Command[]>(
    () =>
      busy
        ? []
        : [{ id: "run-figure", title: "Run this figure", group: "Figure", icon: "play", run: () => run() }],
    [busy, run],
  );
  useCommands("figure", commands);
}

function FigureHead({ figure, run, options, onAsk }: { figure: Figure; run: FigureRun } & AskProps) {
  return (
    <div className={styles.head}>
      <div>
        <p>
          <Link to="/figures">Figures</Link> / {figure.source}
        </p>
        <h1>{figure.title}</h1>
      </div>
      <BasisBadge basis={figure.basis} />
      {figure.result && <FidelityNote result={figure.result} />}
      <VerdictSummary figure={figure} />
      <span className={styles.space} />
      <RunForm figure={figure} run={run} options={options} onAsk={onAsk} />
    </div>
  );
}

/** The options for running a figure. */
interface RunOptions {
  /** Null for the figure's default. */
  seeds: number | null;
  /** All of the paper's data, for a figure that simulates a part of it otherwise. */
  whole: boolean;
}

const requestOf = ({ seeds, whole }: RunOptions) => ({
  ...(seeds !== null && { seeds }),
  whole,
});

interface AskProps {
  options: RunOptions;
  onAsk: (options: RunOptions) => void;
}

function RunForm({ figure, run, options, onAsk }: { figure: Figure; run: FigureRun } & AskProps) {
  const { latest, busy, start, cancel } = run;
  const [unreadable, setUnreadable] = useState(0);
  const seedsId = useId();
  const dataId = useId();
  const expected = options.whole ? figure.whole_secs : figure.expected_secs;
  return (
    <UnreadableInputs onCount={setUnreadable}>
      <form
        className={styles.run}
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy && unreadable === 0) start.mutate();
        }}
      >
        {figure.basis === "modelled" && (
          <>
            <label htmlFor={seedsId}>Seeds</label>
            <span className={styles.seeds}>
              <NumberInput
                id={seedsId}
                value={options.seeds}
                onChange={(seeds) => onAsk({ ...options, seeds })}
                integer
                optional
                min={1}
                max={1000}
                placeholder={String(seedsOf(figure.result) ?? DEFAULT_SEEDS)}
              />
            </span>
          </>
        )}
        {figure.parts > 1 && (
          <>
            <label htmlFor={dataId}>Data</label>
            <Select
              id={dataId}
              width={150}
              value={options.whole ? "whole" : "part"}
              onChange={(value) => onAsk({ ...options, whole: value === "whole" })}
              options={[
                { value: "part", label: `1/${figure.parts} of the paper’s` },
                { value: "whole", label: "all of the paper’s" },
              ]}
            />
          </>
        )}
        <Button type="submit" look="primary" icon="play" disabled={busy || unreadable > 0}>
          {figure.result_from === "run" ? "Run again" : "Run"}
        </Button>
        {!busy && expected !== null && options.seeds === null && (
          <span className="muted plain">{aboutText(expected)}</span>
        )}
        {busy && latest && !isOver(latest.state) && (
          <Button icon="close" disabled={cancel.isPending} onClick={() => cancel.mutate(latest.id)}>
            Cancel
          </Button>
        )}
      </form>
    </UnreadableInputs>
  );
}
