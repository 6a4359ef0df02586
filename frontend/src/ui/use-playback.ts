import { useCallback, useEffect, useRef, useState } from "react";

export interface Playback {
  /** Null follows the newest time. */
  at: number | null;
  playing: boolean;
  speed: number;
}

const STEP_MS = 100;

/**
 * Moves `at` on while it plays, at speed 1 by `perSecond` of the run's seconds a second, and stops
 * at the newest time.
 */
export function usePlayback(
  initialAt: number | null,
  end: number,
  onAt: (at: number | null) => void,
  perSecond = 1,
): [Playback, (change: Partial<Playback>) => void] {
  const [playback, setPlayback] = useState<Playback>({ at: initialAt, playing: false, speed: 1 });
  const latest = useRef({ end, onAt, perSecond });
  latest.current = { end, onAt, perSecond };
  const { playing, speed } = playback;
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => {
      setPlayback((before) => {
        if (before.at === null) return { ...before, playing: false };
        const at = before.at + (STEP_MS / 1000) * speed * latest.current.perSecond;
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
