/**
 * Faults as bars on the time axis, and the bar to move through the session: by pointer, by keys, at
 * any speed.
 */
import { ScrubBar } from "@/ui/scrub-bar";
import type { Playback } from "@/ui/use-playback";
import type { ThemeName } from "@/units";
import { timeDomain } from "../charts/axis";
import { NotePins } from "../notes/note-pins";
import { secsText } from "../session/series";
import type { Session } from "../session/session";
import { FaultBars } from "./fault-bars";
import styles from "./timeline.module.css";

export function Timeline({
  runId,
  session,
  over,
  playback,
  setPlayback,
  theme,
}: {
  runId: string;
  session: Session;
  over: boolean;
  playback: Playback;
  setPlayback: (change: Partial<Playback>) => void;
  theme: ThemeName;
}) {
  const [from, to] = timeDomain(session);
  const end = session.history.at(-1)?.at ?? from;
  const at = playback.at ?? end;
  return (
    <section className={styles.timeline} aria-label="Timeline">
      <FaultBars session={session} from={from} to={to} at={at} theme={theme} />
      <NotePins
        runId={runId}
        from={from}
        to={to}
        onMoment={(moment) => setPlayback({ at: Math.min(moment, end), playing: false })}
      />
      <ScrubBar
        from={from}
        to={to}
        end={session.history.length > 0 ? end : null}
        step={0.1}
        text={secsText}
        over={over}
        playback={playback}
        setPlayback={setPlayback}
        inset
      />
    </section>
  );
}
