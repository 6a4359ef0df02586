/** The session at one time: its picture, its charts, its log, and its controls. */
import { useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useId, useMemo, useRef, useState } from "react";
import type { Experiment } from "@/api/types";
import type { RunViewProps } from "@/shared/runs/run-frame";
import type { RunSearch } from "@/shared/runs/run-url";
import { isOver } from "@/shared/runs/runs";
import { Skeleton } from "@/ui/marks";
import { useTheme } from "@/ui/theme";
import { usePlayback } from "@/ui/use-playback";
import { timeDomain } from "./charts/axis";
import { ChartsPanel } from "./charts/charts-panel";
import styles from "./cockpit.module.css";
import { withTarget } from "./faults/break-draft";
import { useInjecting } from "./faults/use-injecting";
import { useTerminals } from "./inspect/terminals";
import { LivePicture } from "./picture/live-picture";
import { PictureBar } from "./picture/picture-bar";
import type { TopologyHandle } from "./picture/topology-view";
import { ReportPanel, Verdict } from "./report/report-panel";
import { Numbers } from "./report/summary";
import { brokenItems, type Item, itemName, type Network, readItem, writeItem } from "./session/network";
import { brokenAt, type Session, scheduledFaults } from "./session/session";
import { unpluggedAt } from "./session/upgrade";
import { useRunSearch } from "./session/use-run-search";
import { useSessionCommands } from "./session/use-session-commands";
import { tickAt, useWindow } from "./session/use-window";
import { type Side, SidePanel } from "./side-panel";
import { Timeline } from "./timeline/timeline";

const TerminalDock = lazy(() => import("./inspect/terminal-dock"));
const VerdictPanel = lazy(() => import("@/shared/runs/verdict-panel"));

export interface CockpitProps {
  run: RunViewProps["run"];
  experiment: Experiment;
  onStopAll: () => void;
}

/** Follows the calm session; the picture alone follows every tick. */
export function Cockpit({
  session,
  network,
  run,
  experiment,
  onStopAll,
}: CockpitProps & { session: Session; network: Network }) {
  const id = useId();
  const theme = useTheme((state) => state.name);
  const search = useSearch({ strict: false }) as RunSearch;
  const setSearch = useRunSearch();
  const over = isOver(session.live.state);
  const { playback, setPlayback, following, at, replay, show, window, tick, shownAt, broken } = useShown(
    session,
    network,
    run.events_url,
  );
  const { selection, select, side, setSide, injecting, choose } = useChoice(network, over);
  const flowing =
    !over && following && session.history.length > 0 && session.phases.at(-1)?.phase !== "removing";
  const handle = useRef<TopologyHandle | null>(null);
  const view = search.view ?? "logical";
  useSessionCommands({
    over,
    injecting: injecting.on,
    onStopAll,
    onInjecting: injecting.turn,
    onReplay: replay,
  });
  return (
    <>
      <Numbers session={session} tick={tick} following={following} />
      {session.report && <Verdict report={session.report} experiment={run.experiment_id} />}
      <div className={styles.cockpit}>
        <div className={styles.main}>
          <PictureBar
            panelId={`${id}-view`}
            view={view}
            onView={(next) => setSearch({ view: next === "logical" ? undefined : next })}
            injecting={injecting.on}
            onInjecting={injecting.turn}
            flowing={flowing}
            handle={handle}
            fileName={`run-${run.id}.png`}
          />
          <div
            id={`${id}-view`}
            role="tabpanel"
            aria-label={view === "floor" ? "Floor" : "Logical"}
            data-guide={injecting.on ? "inject-pick" : undefined}
          >
            <LivePicture
              view={view}
              network={network}
              experiment={experiment}
              at={playback.at}
              window={window}
              selection={selection}
              targets={injecting.targets}
              injecting={injecting.on}
              theme={theme}
              onSelect={choose}
              handleRef={handle}
            />
          </div>
          <Timeline
            runId={run.id}
            session={session}
            over={over}
            playback={playback}
            setPlayback={setPlayback}
            theme={theme}
          />
          <Terminals run={run.id} />
        </div>
        <SidePanel
          runId={run.id}
          session={session}
          network={network}
          tick={tick}
          at={shownAt}
          onMoment={show}
          side={side}
          onSide={setSide}
          selection={selection}
          onSelect={select}
          broken={broken}
          injecting={injecting}
          flowing={flowing}
          over={over}
        />
        <Findings session={session} run={run} />
        <ChartsPanel session={session} run={run} at={following ? null : at} />
      </div>
      <output className="visually-hidden" aria-live="polite">
        {selection ? `${selection.kind} ${itemName(network, selection)} is selected` : ""}
      </output>
    </>
  );
}

/** The open shells, independent of the selection. */
function Terminals({ run }: { run: string }) {
  const open = useTerminals((state) => state.run === run && state.open.length > 0);
  const closeAll = useTerminals((state) => state.closeAll);
  // Leaving the page ends the shells; the next run has its own.
  useEffect(() => closeAll, [closeAll]);
  return (
    open && (
      <Suspense>
        <TerminalDock run={run} />
      </Suspense>
    )
  );
}

/** The shown time, and what there was then. */
function useShown(session: Session, network: Network, eventsUrl: string) {
  const search = useSearch({ strict: false }) as RunSearch;
  const setSearch = useRunSearch();
  const { history: ticks } = session;
  const [begin] = timeDomain(session);
  const end = ticks.at(-1)?.at ?? begin;

  const [playback, setPlayback] = usePlayback(
    search.mode === "replay" ? (search.at ?? null) : null,
    end,
    useCallback(
      (at: number | null) =>
        setSearch({ mode: at === null ? undefined : "replay", at: at === null ? undefined : round(at) }),
      [setSearch],
    ),
  );
  const following = playback.at === null;
  const at = playback.at ?? end;
  const window = useWindow(eventsUrl, session, playback.at);
  const tick = (following ? ticks.at(-1) : tickAt(ticks, window, at)) ?? null;
  const shownAt = following ? Number.POSITIVE_INFINITY : at;
  const broken = useMemo(
    () =>
      brokenItems(network, [
        ...unpluggedAt(network, { upgrades: session.upgrades }, shownAt),
        ...brokenAt(session.faults, shownAt),
      ]),
    [network, session.faults, session.upgrades, shownAt],
  );
  const replay = useCallback(() => setPlayback({ at: begin, playing: true }), [begin, setPlayback]);
  const show = useCallback((moment: number) => setPlayback({ at: moment, playing: false }), [setPlayback]);
  return { playback, setPlayback, following, at, replay, show, window, tick, shownAt, broken };
}

/** The selection, the open side panel, and the targets of a fault that is being prepared. */
function useChoice(network: Network, over: boolean) {
  const search = useSearch({ strict: false }) as RunSearch;
  const setSearch = useRunSearch();
  const selection = useMemo(() => readItem(network, search.sel), [network, search.sel]);
  const select = useCallback(
    (item: Item | null) => setSearch({ sel: writeItem(network, item) }),
    [network, setSearch],
  );
  const [side, setSide] = useState<Side>(selection ? "inspect" : "events");
  const injecting = useInjecting(
    over,
    useCallback(() => setSide("break"), []),
  );
  const { on: choosing, setDraft } = injecting;
  const choose = useCallback(
    (item: Item | null) => {
      if (choosing) setDraft((before) => withTarget(before, item));
      else {
        select(item);
        if (item) setSide("inspect");
      }
    },
    [choosing, setDraft, select],
  );
  return { selection, select, side, setSide, injecting, choose };
}

const round = (secs: number) => Math.round(secs * 10) / 10;

/**
 * The findings of the session, once there is a report; if there are several hypotheses, the verdict
 * of each.
 */
function Findings({ session, run }: { session: Session; run: CockpitProps["run"] }) {
  const { report, live } = session;
  if (!report) return null;
  return (
    <ReportPanel report={report} scheduled={scheduledFaults(session)}>
      {live.state === "succeeded" && (report.verdicts?.length ?? 0) > 1 && (
        <Suspense fallback={<Skeleton height={64} />}>
          <VerdictPanel run={run} />
        </Suspense>
      )}
    </ReportPanel>
  );
}
