/** Loads the ticks around the replay's position if the session has only seconds for that time. */
import { useEffect, useRef, useState } from "react";
import { readEvents } from "@/api/events";
import { keptTick, secsOf, type Tick, type TickFrame } from "./frames";
import { lastIndexAt, type Session } from "./session";
import { useThrottled } from "./use-throttled";

/**
 * A window begins at a multiple of this and is twice as long, so that the next one is loaded before
 * it is needed.
 */
const STEP_SECS = 10;
/** While the bar is dragged, at most one request is sent per interval. */
const DRAG_MS = 200;
const NONE: readonly Tick[] = [];

/**
 * The frame after which the second begins that holds `at`; null where the session has ticks, or
 * nothing.
 */
export function windowStart(
  { seconds, ticks }: Pick<Session, "seconds" | "ticks">,
  at: number | null,
): number | null {
  const [first] = ticks;
  if (at === null || (first && at >= first.at)) return null;
  const index = lastIndexAt(seconds, at);
  return seconds[index]?.id ?? (seconds.length > 0 ? 0 : null);
}

const reaches = (window: readonly Tick[], at: number) =>
  window.length > 0 && at >= window[0]!.at - 1 && at <= window.at(-1)!.at;

/** Empty if not needed, and until it is loaded. */
export function useWindow(eventsUrl: string, session: Session, at: number | null): readonly Tick[] {
  const [window, setWindow] = useState(NONE);
  const latest = useRef(session);
  latest.current = session;
  const needed = windowStart(session, at) !== null;
  const step = useThrottled(needed ? Math.floor(at! / STEP_SECS) : null, DRAG_MS);
  useEffect(() => {
    if (step === null) return;
    const from = step * STEP_SECS;
    const { seconds, network } = latest.current;
    const start = windowStart({ seconds, ticks: [] }, Math.max(from, seconds[0]?.at ?? 0)) ?? 0;
    const stop = new AbortController();
    const unitBytes = network?.frame.unit_bytes ?? 1;
    void readTicks(eventsUrl, start, from + 2 * STEP_SECS, unitBytes, stop.signal).then(setWindow, () => {
      // Seconds are shown instead; the next step tries again.
    });
    return () => stop.abort();
  }, [eventsUrl, step]);
  return needed ? window : NONE;
}

async function readTicks(
  eventsUrl: string,
  after: number,
  until: number,
  unitBytes: number,
  signal: AbortSignal,
): Promise<Tick[]> {
  const ticks: Tick[] = [];
  for await (const events of readEvents(eventsUrl, after, signal))
    for (const { id, event, data } of events) {
      if (event !== "tick") continue;
      const frame = JSON.parse(data) as TickFrame;
      ticks.push(keptTick(Number(id), frame, { secs: secsOf(frame, ticks.at(-1)), ticks: 1 }, unitBytes));
      if (frame.at_secs > until) return ticks;
    }
  return ticks;
}

/**
 * The tick at a time: from the window if it covers that time. The time is raised a little, because
 * the address bar rounds it.
 */
export function tickAt(history: readonly Tick[], window: readonly Tick[], at: number): Tick | null {
  const ticks = reaches(window, at) ? window : history;
  return ticks[lastIndexAt(ticks, at + 1e-6)] ?? null;
}
