/**
 * The page of an emulation: live view and replay are one screen, which shows the session at one
 * time.
 */
import { lazy, memo, Suspense, useEffect, useMemo } from "react";
import { NoResultsYet } from "@/shared/runs/no-results-yet";
import { Downloads } from "@/shared/runs/run-downloads";
import { useRunFeed } from "@/shared/runs/run-feed";
import { RunFrame, type RunViewProps } from "@/shared/runs/run-frame";
import { useGuide } from "@/shared/shell/guide/guide-state";
import { Skeleton } from "@/ui/marks";
import { Cockpit, type CockpitProps } from "./cockpit";
import { StopAll, useStopAll } from "./faults/stop-all";
import { Phases } from "./report/summary";
import { CALM_MS, CalmSession, LiveSession, useCalmSession } from "./session/live-session";
import { emptySession, reduceSession } from "./session/session";
import { useThrottled } from "./session/use-throttled";

const MethodsPanel = lazy(() => import("@/shared/runs/methods/methods-panel"));

export default function EmulationRun({ run, experiment }: RunViewProps) {
  const {
    value: session,
    feed,
    error,
  } = useRunFeed(`${run.events_url}?older=seconds`, emptySession(run), reduceSession);
  const calm = useThrottled(session, CALM_MS);
  const stop = useStopAll(run.id);
  useEffect(() => useGuide.getState().reach("emulate"), []);
  const { mutate: stopAll, isPending: stopping, isSuccess: stopped } = stop;
  // Created once: only the parts that show ticks update with them, not the whole page.
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

function Body(props: CockpitProps) {
  const session = useCalmSession();
  return (
    <>
      <Phases session={session} />
      {session.network ? (
        <>
          <Cockpit {...props} session={session} network={session.network} />
          {session.live.state === "succeeded" && (
            <Suspense fallback={<Skeleton height={240} />}>
              <MethodsPanel run={props.run} experiment={props.experiment} />
            </Suspense>
          )}
        </>
      ) : (
        <NoResultsYet
          run={props.run}
          live={session.live}
          title="No measurements"
          ended={["The run ended before its network was ready.", "Run it again."]}
          doing="Starting servers…"
          height={360}
        />
      )}
    </>
  );
}
