/** Faults as bars on the time axis, and the bar to move through the session: by pointer, by keys, at any speed. */
import { scaleLinear } from "d3-scale";
import { useCallback, useEffect, useRef, useState } from "react";
import { Button } from "@/ui/button";
import { Select } from "@/ui/form";
import { THEMES, type ThemeName } from "@/units";
import { faultKind } from "../shared/fault-kinds";
import { AXIS_MARGIN_PX, timeDomain } from "./axis";
import styles from "./emulation.module.css";
import { secsText } from "./series";
import { type Session, type Span, spansOf } from "./session";

export interface Playback {
  /** Null follows the newest tick. */
  at: number | null;
  playing: boolean;
  speed: number;
}

const SPEEDS = [0.25, 0.5, 1, 2, 5, 10];
const STEP_MS = 100;
const ROW_PX = 18;
const ROWS_AT_MOST = 6;

/** Moves `at` on while it plays, and stops at the newest tick. */
export function usePlayback(
  initialAt: number | null,
  end: number,
  onAt: (at: number | null) => void,
): [Playback, (change: Partial<Playback>) => void] {
  const [playback, setPlayback] = useState<Playback>({ at: initialAt, playing: false, speed: 1 });
  const latest = useRef({ end, onAt });
  latest.current = { end, onAt };
  const { playing, speed } = playback;
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => {
      setPlayback((before) => {
        if (before.at === null) return { ...before, playing: false };
        const at = before.at + (STEP_MS / 1000) * speed;
        return at >= latest.current.end ? { ...before, at: null, playing: false } : { ...before, at };
      });
    }, STEP_MS);
    return () => clearInterval(timer);
  }, [playing, speed]);
  // The address follows when it rests, not with every step.
  useEffect(() => {
    if (playing) return;
    const timer = setTimeout(() => latest.current.onAt(playback.at), 250);
    return () => clearTimeout(timer);
  }, [playback.at, playing]);
  const change = useCallback(
    (next: Partial<Playback>) => setPlayback((before) => ({ ...before, ...next })),
    [],
  );
  return [playback, change];
}

export function Timeline({
  session,
  over,
  playback,
  setPlayback,
  theme,
}: {
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
      <div className={styles.scrub}>
        <input
          type="range"
          aria-label="Time of the session"
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
          aria-label="A tenth of a second back"
          onClick={() => setPlayback({ at: Math.max(from, at - 0.1), playing: false })}
        >
          −0.1 s
        </Button>
        <Button
          small
          aria-label="A tenth of a second on"
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
            {over ? "To the end" : "Back to live"}
          </Button>
        )}
      </div>
    </section>
  );
}

function FaultBars({
  session,
  from,
  to,
  at,
  theme,
}: {
  session: Session;
  from: number;
  to: number;
  at: number;
  theme: ThemeName;
}) {
  const body = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const node = body.current;
    if (!node) return;
    const observer = new ResizeObserver(() => setWidth(node.clientWidth));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  const tokens = THEMES[theme];
  const spans = spansOf(session);
  const ids = [...new Set(spans.map(({ id }) => id))].slice(-ROWS_AT_MOST);
  const x = scaleLinear([from, to], [AXIS_MARGIN_PX.left, Math.max(80, width - AXIS_MARGIN_PX.right)]);
  const rows = Math.max(1, ids.length);
  const height = rows * ROW_PX + 20;
  const bar = (span: Span, i: number) => {
    const row = ids.indexOf(span.id);
    if (row < 0) return null;
    const [x0, x1] = [
      x(span.from),
      x(span.to ?? (span.waiting ? to : Math.min(to, Math.max(at, span.from)))),
    ];
    return (
      <g key={`${span.id} ${i}`} transform={`translate(0 ${row * ROW_PX + 3})`}>
        <rect
          x={x0}
          width={Math.max(3, x1 - x0)}
          height={ROW_PX - 6}
          rx={3}
          fill={span.waiting ? "none" : tokens.failed}
          fillOpacity={span.to === null ? 0.85 : 0.5}
          stroke={tokens.failed}
          strokeDasharray={span.waiting ? "3 3" : undefined}
        />
        <title>{`${faultKind(span.kind).title}: ${span.targets.join(", ")}`}</title>
      </g>
    );
  };
  return (
    <div ref={body}>
      <svg
        className={styles.bars}
        width={width}
        height={height}
        role="img"
        aria-label={
          spans.length === 0
            ? "No faults"
            : `Faults over time: ${spans.map(({ id, kind, from: begin, to: until }) => `${id} ${faultKind(kind).title} from ${secsText(begin)}${until === null ? "" : ` to ${secsText(until)}`}`).join("; ")}`
        }
      >
        {from < 0 && (
          <rect
            x={x(from)}
            width={x(0) - x(from)}
            y={0}
            height={height - 16}
            fill={tokens.grid}
            fillOpacity={0.6}
          />
        )}
        {spans.length === 0 && (
          <text x={AXIS_MARGIN_PX.left + 6} y={13} fill={tokens.muted}>
            Nothing is broken
          </text>
        )}
        {ids.map((id, row) => (
          <text key={id} x={4} y={row * ROW_PX + 13} fill={tokens.muted}>
            {id}
          </text>
        ))}
        {spans.map(bar)}
        {session.stops.map((stop) => (
          <g key={stop.at_secs} transform={`translate(${x(stop.at_secs)} 0)`}>
            <line y2={height - 16} stroke={tokens.good} strokeWidth={2} />
            <title>{`Stop all, ${secsText(stop.at_secs)}: ${stop.recovered ? "everything recovered" : "not everything came back"}`}</title>
          </g>
        ))}
        <line x1={x(from)} x2={x(to)} y1={height - 16} y2={height - 16} stroke={tokens.rule} />
        {x.ticks(Math.max(2, Math.floor(width / 90))).map((tick) => (
          <text key={tick} x={x(tick)} y={height - 3} textAnchor="middle" fill={tokens.muted}>
            {secsText(tick)}
          </text>
        ))}
        <line x1={x(at)} x2={x(at)} y1={0} y2={height - 16} stroke={tokens.accent} strokeWidth={2} />
      </svg>
    </div>
  );
}
