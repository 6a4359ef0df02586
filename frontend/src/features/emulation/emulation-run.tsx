/** A run of real packets: live and replay are one screen, which shows the session as it was at one time. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { memo, useCallback, useEffect, useId, useMemo, useRef, useState } from "react";
import type { Experiment } from "@/api/types";
import { Button, IconButton } from "@/ui/button";
import { saveFile } from "@/ui/clipboard";
import { Icon } from "@/ui/icon";
import { Empty, Skeleton } from "@/ui/marks";
import { Tabs } from "@/ui/tabs";
import { type Command, useCommands } from "../shared/commands";
import { Downloads } from "../shared/run-downloads";
import { useRunFeed } from "../shared/run-feed";
import { RunFrame, type RunViewProps } from "../shared/run-frame";
import type { RunSearch } from "../shared/run-url";
import { isOver } from "../shared/runs";
import { useTheme } from "../shared/theme";
import { timeDomain } from "./axis";
import { type BreakDraft, BreakPanel, NO_BREAK, withTarget } from "./break-panel";
import { ChartsPanel } from "./charts-panel";
import styles from "./emulation.module.css";
import { EventLog } from "./event-log";
import { FaultsList } from "./faults-list";
import { Inspector } from "./inspector";
import { LivePicture } from "./live-picture";
import { CALM_MS, CalmSession, LiveSession, useCalmSession } from "./live-session";
import { brokenItems, type Item, itemName, type Network, nodeOf, readItem, writeItem } from "./network";
import { ReportPanel, Verdict } from "./report-panel";
import { brokenAt, emptySession, reduceSession, type Session } from "./session";
import panel from "./side.module.css";
import { StopAll, useStopAll } from "./stop-all";
import { Numbers, Phases } from "./summary";
import { Timeline, usePlayback } from "./timeline";
import type { TopologyHandle } from "./topology-view";
import { useThrottled } from "./use-throttled";
import { tickAt, useWindow } from "./use-window";

export default function EmulationRun({ run, experiment }: RunViewProps) {
  const {
    value: session,
    feed,
    error,
  } = useRunFeed(`${run.events_url}?older=seconds`, emptySession(run), reduceSession);
  const calm = useThrottled(session, CALM_MS);
  const stop = useStopAll(run.id);
  const { mutate: stopAll, isPending: stopping, isSuccess: stopped } = stop;
  // Made once: what a tick changes is told to the parts that show it, not to the whole page.
  const body = useMemo(
    () => <Body run={run} experiment={experiment!} onStopAll={stopAll} />,
    [run, experiment, stopAll],
  );
  const actions = useMemo(
    () => (
      <>
        <StopAll session={calm} ordered={stopping || stopped} onStop={stopAll} />
        <Downloads run={run} />
      </>
    ),
    [calm, stopping, stopped, stopAll, run],
  );
  return (
    <LiveSession value={session}>
      <CalmSession value={calm}>
        <Frame
          run={run}
          live={calm.live}
          feed={feed}
          error={error ?? stop.error}
          basis="measured"
          actions={actions}
        >
          {body}
        </Frame>
      </CalmSession>
    </LiveSession>
  );
}

const Frame = memo(RunFrame);

interface BodyProps {
  run: RunViewProps["run"];
  experiment: Experiment;
  onStopAll: () => void;
}

function Body(props: BodyProps) {
  const session = useCalmSession();
  return (
    <>
      <Phases session={session} />
      {session.network ? (
        <Cockpit {...props} session={session} network={session.network} />
      ) : isOver(session.live.state) ? (
        <Empty title="Nothing was measured">
          <p>{session.live.reason || "The run ended before its network was up."} Run it again.</p>
        </Empty>
      ) : (
        <div className={styles.waiting} role="status">
          <Skeleton height={360} />
          <p>
            {session.live.state === "queued" ? "Waiting for a worker…" : "The servers are being started…"}
          </p>
        </div>
      )}
    </>
  );
}

const SIDES = [
  { id: "inspect", label: "Inspect" },
  { id: "break", label: "Break" },
  { id: "events", label: "Events" },
] as const;
type Side = (typeof SIDES)[number]["id"];

const VIEWS = [
  { id: "logical", label: "Logical" },
  { id: "floor", label: "Floor" },
] as const;

/** Follows the calm session; the picture alone follows every tick. */
function Cockpit({
  session,
  network,
  run,
  experiment,
  onStopAll,
}: BodyProps & { session: Session; network: Network }) {
  const id = useId();
  const theme = useTheme((state) => state.name);
  const search = useSearch({ strict: false }) as RunSearch;
  const setSearch = useRunSearch();
  const over = isOver(session.live.state);
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
  const window = useWindow(run.events_url, session, playback.at);
  const tick = (following ? ticks.at(-1) : tickAt(ticks, window, at)) ?? null;
  const shownAt = following ? Number.POSITIVE_INFINITY : at;
  const broken = useMemo(
    () => brokenItems(network, brokenAt(session.faults, shownAt)),
    [network, session.faults, shownAt],
  );

  const struck = broken.nodes.size + broken.links.size + broken.degraded.size;
  const selection = useMemo(() => readItem(network, search.sel), [network, search.sel]);
  const select = useCallback(
    (item: Item | null) => setSearch({ sel: writeItem(network, item) }),
    [network, setSearch],
  );
  const [side, setSide] = useState<Side>(selection ? "inspect" : "events");
  const [injecting, setInjecting] = useState(false);
  const [draft, setDraft] = useState<BreakDraft>(NO_BREAK);
  const [targets, setTargets] = useState<readonly Item[]>([]);
  const flowing = !over && following && ticks.length > 0 && session.phases.at(-1)?.phase !== "removing";
  const choose = useCallback(
    (item: Item | null) => {
      if (injecting) setDraft((before) => withTarget(before, item));
      else {
        select(item);
        if (item) setSide("inspect");
      }
    },
    [injecting, select],
  );
  const turnInjecting = useCallback((on: boolean) => {
    setInjecting(on);
    setSide((before) => (on ? "break" : before));
    if (!on) {
      setDraft(NO_BREAK);
      setTargets([]);
    }
  }, []);
  // What is over cannot be broken.
  useEffect(() => {
    if (over) turnInjecting(false);
  }, [over, turnInjecting]);

  const handle = useRef<TopologyHandle | null>(null);
  const view = search.view ?? "logical";
  const commands = useMemo<Command[]>(
    () => [
      ...(over
        ? []
        : [
            {
              id: "stop-all",
              title: "Stop all: mend everything",
              group: "Run",
              keys: "mod+.",
              run: onStopAll,
            },
            {
              id: "inject-mode",
              title: injecting ? "Leave inject mode" : "Break something (inject mode)",
              group: "Run",
              run: () => turnInjecting(!injecting),
            },
          ]),
      {
        id: "replay-begin",
        title: "Replay from the beginning",
        group: "Run",
        icon: "play" as const,
        run: () => setPlayback({ at: begin, playing: true }),
      },
    ],
    [over, injecting, onStopAll, turnInjecting, begin, setPlayback],
  );
  useCommands("emulation", commands);

  return (
    <>
      <Numbers session={session} tick={tick} />
      {session.report && <Verdict report={session.report} />}
      <div className={styles.cockpit}>
        <div className={styles.main}>
          <div className={styles.bar}>
            <Tabs
              label="Views"
              panelId={`${id}-view`}
              value={view}
              onChange={(next) => setSearch({ view: next === "logical" ? undefined : next })}
              items={[...VIEWS]}
            />
            <span className={styles.space} />
            <label className={styles.switch} data-on={injecting || undefined}>
              <input
                type="checkbox"
                checked={injecting}
                disabled={!flowing}
                onChange={(event) => turnInjecting(event.target.checked)}
              />
              Inject faults
            </label>
            <IconButton small icon="plus" label="Zoom in" onClick={() => handle.current?.zoomIn()} />
            <IconButton small icon="minus" label="Zoom out" onClick={() => handle.current?.zoomOut()} />
            <IconButton small icon="fit" label="Fit to the window" onClick={() => handle.current?.fit()} />
            <Button
              small
              onClick={() =>
                void handle.current?.toPngBlob().then((blob) => saveFile(blob, `run-${run.id}.png`))
              }
            >
              PNG
            </Button>
          </div>
          <div id={`${id}-view`} role="tabpanel" aria-label={view === "floor" ? "Floor" : "Logical"}>
            <LivePicture
              view={view}
              network={network}
              experiment={experiment}
              at={playback.at}
              window={window}
              selection={selection}
              targets={targets}
              injecting={injecting}
              theme={theme}
              onSelect={choose}
              handleRef={handle}
            />
          </div>
          <Timeline
            session={session}
            over={over}
            playback={playback}
            setPlayback={setPlayback}
            theme={theme}
          />
        </div>
        <aside className={styles.side} aria-label="Details">
          <Tabs
            label="Details"
            panelId={`${id}-side`}
            value={side}
            onChange={setSide}
            items={SIDES.map(({ id: one, label }) => ({
              id: one,
              label,
              ...(one === "break" && struck > 0 && { detail: struck }),
              ...(one === "events" && session.events.length > 0 && { detail: session.events.length }),
            }))}
          />
          <div
            id={`${id}-side`}
            role="tabpanel"
            aria-label={SIDES.find((one) => one.id === side)!.label}
            className={styles.sideBody}
          >
            {side === "inspect" && (
              <Inspector
                liveRun={flowing ? run.id : null}
                session={session}
                network={network}
                item={selection}
                tick={tick}
                at={shownAt}
                broken={isBroken(network, selection, broken)}
                onSelect={select}
              />
            )}
            {side === "break" && (
              <>
                {!over && (
                  <div className={panel.breakHead}>
                    <Icon name={injecting ? "warning" : "info"} size={14} />
                    {injecting
                      ? "Inject mode: a click in the picture chooses what to break. Nothing breaks before you confirm."
                      : "Switch inject mode on to break something. Scheduled faults strike by themselves."}
                  </div>
                )}
                {injecting && (
                  <BreakPanel
                    runId={run.id}
                    network={network}
                    draft={draft}
                    onDraft={setDraft}
                    enabled={flowing}
                    onTargets={setTargets}
                  />
                )}
                <FaultsList session={session} runId={run.id} over={over} />
              </>
            )}
            {side === "events" && (
              <EventLog
                session={session}
                until={shownAt}
                onSelect={(item) => {
                  select(item);
                  setSide("inspect");
                }}
                fileName={`run-${run.id}-events.csv`}
              />
            )}
          </div>
        </aside>
        {session.report && <ReportPanel report={session.report} />}
        <ChartsPanel session={session} run={run} at={following ? null : at} />
      </div>
      <output className="visually-hidden" aria-live="polite">
        {selection ? `${selection.kind} ${itemName(network, selection)} is selected` : ""}
      </output>
    </>
  );
}

const round = (secs: number) => Math.round(secs * 10) / 10;

function isBroken(network: Network, item: Item | null, broken: ReturnType<typeof brokenItems>): boolean {
  if (!item || item.kind === "flow") return false;
  if (item.kind === "link") return broken.links.has(item.row) || broken.degraded.has(item.row);
  return broken.nodes.has(nodeOf(network, item));
}

function useRunSearch() {
  const navigate = useNavigate();
  return useCallback(
    (change: Partial<RunSearch>) =>
      void navigate({
        from: "/runs/$id",
        to: ".",
        search: (old) => ({ ...old, ...change }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
}
