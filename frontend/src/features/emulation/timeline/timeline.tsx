/** Faults as bars on the time axis, and the bar to move through the session: by pointer, by keys, at any speed. */
import { Button } from "@/ui/button";
import { Select } from "@/ui/form";
import type { ThemeName } from "@/units";
import { timeDomain } from "../charts/axis";
import { NotePins } from "../notes/note-pins";
import { secsText } from "../session/series";
import type { Session } from "../session/session";
import { FaultBars } from "./fault-bars";
import styles from "./timeline.module.css";
import type { Playback } from "./use-playback";

const SPEEDS = [0.25, 0.5, 1, 2, 5, 10];
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
  const following = playback.at === null;
  const play = () =>
    playback.playing
      ? setPlayback({ playing: false })
      : setPlayback({ playing: true, at: following || at >= end - 0.1 ? from : at });
  return (
    <section className={styles.timeline} aria-label="Timeline">
      <FaultBars session={session} from={from} to={to} at={at} theme={theme} />
      <NotePins
        runId={runId}
        from={from}
        to={to}
        onMoment={(moment) => setPlayback({ at: Math.min(moment, end), playing: false })}
      />
      <div className={styles.scrub}>
        <input
          type="range"
          aria-label="Time in the run"
          aria-valuetext={secsText(at)}
          min={from}
          max={to}
          step={0.1}
          value={Math.min(at, to)}
          disabled={session.history.length === 0}
          onChange={(event) => setPlayback({ at: Math.min(Number(event.target.value), end), playing: false })}
        />
      </div>
      <div className={styles.bar}>
        <Button
          small
          icon={playback.playing ? undefined : "play"}
          onClick={play}
          disabled={!session.history.length}
        >
          {playback.playing ? "Pause" : "Play"}
        </Button>
        <Button
          small
          aria-label="Back 0.1 s"
          onClick={() => setPlayback({ at: Math.max(from, at - 0.1), playing: false })}
        >
          −0.1 s
        </Button>
        <Button
          small
          aria-label="Forward 0.1 s"
          onClick={() => setPlayback({ at: Math.min(end, at + 0.1), playing: false })}
        >
          +0.1 s
        </Button>
        <span className={styles.clock} data-testid="clock">
          {secsText(at)}
        </span>
        <Select
          aria-label="Speed"
          width={76}
          value={String(playback.speed)}
          options={SPEEDS.map((speed) => ({ value: String(speed), label: `${speed} ×` }))}
          onChange={(speed) => setPlayback({ speed: Number(speed) })}
        />
        <span className={styles.space} />
        <span className={styles.liveMark} data-on={following || undefined} data-testid="mode">
          {following ? (over ? "At the end" : "Live") : "Replay"}
        </span>
        {!following && (
          <Button small onClick={() => setPlayback({ at: null, playing: false })}>
            {over ? "Go to the end" : "Back to live"}
          </Button>
        )}
      </div>
    </section>
  );
}
