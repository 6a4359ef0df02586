/**
 * The bar to move through a run's time: by pointer, by keys, at any speed; at its end it follows
 * new data.
 */
import { Button } from "./button";
import { Select } from "./form";
import styles from "./scrub-bar.module.css";
import type { Playback } from "./use-playback";

const SPEEDS = [0.25, 0.5, 1, 2, 5, 10];

export interface ScrubBarProps {
  /** The axis, in seconds of the run. */
  from: number;
  to: number;
  /** The newest time that there is; none yet when null. */
  end: number | null;
  /** Seconds that an arrow key moves the handle. */
  step: number;
  /** A time, and a step, in words. */
  text: (secs: number) => string;
  over: boolean;
  playback: Playback;
  setPlayback: (change: Partial<Playback>) => void;
  /** Space next to the slider, to align it with the axis of the charts above. */
  inset?: boolean;
}

export function ScrubBar({ from, to, end, step, text, over, playback, setPlayback, inset }: ScrubBarProps) {
  const last = end ?? from;
  const at = playback.at ?? last;
  const following = playback.at === null;
  const play = () =>
    playback.playing
      ? setPlayback({ playing: false })
      : setPlayback({ playing: true, at: following || at >= last - step ? from : at });
  const go = (next: number) => setPlayback({ at: Math.max(from, Math.min(next, last)), playing: false });
  return (
    <>
      <div className={styles.scrub} data-inset={inset || undefined}>
        <input
          type="range"
          aria-label="Time in the run"
          aria-valuetext={text(at)}
          min={from}
          max={to}
          step={step}
          // The end need not be a whole number of steps.
          value={at >= last && last + step > to ? to : Math.min(at, to)}
          disabled={end === null}
          onChange={(event) => go(Number(event.target.value))}
        />
      </div>
      <div className={styles.bar}>
        <Button small icon={playback.playing ? undefined : "play"} onClick={play} disabled={end === null}>
          {playback.playing ? "Pause" : "Play"}
        </Button>
        <Button small aria-label={`Back ${text(step)}`} onClick={() => go(at - step)}>
          {`−${text(step)}`}
        </Button>
        <Button small aria-label={`Forward ${text(step)}`} onClick={() => go(at + step)}>
          {`+${text(step)}`}
        </Button>
        <span className={styles.clock} data-testid="clock">
          {text(at)}
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
    </>
  );
}
