/**
 * Follows a run: delivers its frames once and in order, over any number of connections. Live,
 * reconnect and replay are the same for the listener.
 */
import { useEffect, useRef, useState } from "react";
import { ApiError } from "@/api/client";
import { readEvents, type ServerEvent } from "@/api/events";
import { isOver, type RunState } from "./runs";

/**
 * `lost`: the displayed state may be old; a reconnect is in progress. `refused`: the server
 * rejected the request permanently.
 */
export type FeedState = "connecting" | "live" | "lost" | "over" | "refused";

export interface FeedListener {
  onEvents: (events: ServerEvent[]) => void;
  onState: (state: FeedState, error: unknown) => void;
}

type Reader = typeof readEvents;

/** Waits before the next try: short at first, then longer, never longer than this. */
const RETRY_MS = [250, 1000, 2000, 4000];

export const retryMs = (attempt: number): number => RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)]!;

/** Follows until the run has ended or the returned function is called. */
export function followRun(
  path: string,
  listener: FeedListener,
  read: Reader = readEvents,
  wait: (ms: number, signal: AbortSignal) => Promise<void> = sleep,
): () => void {
  const stop = new AbortController();
  const say = (state: FeedState, error: unknown = null) => {
    if (!stop.signal.aborted) listener.onState(state, error);
  };
  const follow = async () => {
    let last = 0;
    let attempt = 0;
    let over = false;
    while (!stop.signal.aborted) {
      try {
        const stream = read(path, last, stop.signal);
        for (;;) {
          const piece = await stream.next();
          if (stop.signal.aborted) return;
          if (piece.done) {
            if (piece.value === "over" || over) return say("over");
            break;
          }
          say("live");
          attempt = 0;
          // A frame that was sent twice, once on each side of a lost connection, counts once.
          const news = piece.value.filter((event) => event.id === null || Number(event.id) > last);
          for (const event of news) {
            if (event.id !== null) last = Number(event.id);
            if (event.event === "state") over = isOver((JSON.parse(event.data) as { state: RunState }).state);
          }
          if (news.length > 0) listener.onEvents(news);
        }
      } catch (error) {
        if (error instanceof ApiError && error.status < 500) return say("refused", error);
        say("lost", error);
      }
      await wait(retryMs(attempt++), stop.signal);
    }
  };
  say("connecting");
  void follow();
  return () => stop.abort();
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Frames that come close together are taken in together: the page draws so often at most. */
const GATHER_MS = 100;

/**
 * Reduces all frames of a run so far with `reduce`. `reduce` gets them in order, each once, and
 * returns a new value. `path` is the run's `events_url`; null follows nothing.
 */
export function useRunFeed<T>(
  path: string | null,
  initial: T,
  reduce: (state: T, events: readonly ServerEvent[]) => T,
): { value: T; feed: FeedState; error: unknown } {
  const [state, setState] = useState<{ path: string | null; value: T; feed: FeedState; error: unknown }>({
    path,
    value: initial,
    feed: "connecting",
    error: null,
  });
  const latest = useRef({ initial, reduce });
  latest.current = { initial, reduce };
  useEffect(() => {
    if (path === null) return;
    let value = latest.current.initial;
    let feed: FeedState = "connecting";
    let error: unknown = null;
    let waiting: ServerEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      clearTimeout(timer);
      timer = undefined;
      if (waiting.length > 0) value = latest.current.reduce(value, waiting);
      waiting = [];
      setState({ path, value, feed, error });
    };
    setState({ path, value, feed, error });
    const stop = followRun(path, {
      onEvents: (events) => {
        waiting.push(...events);
        timer ??= setTimeout(flush, GATHER_MS);
      },
      onState: (state, why) => {
        if (state === feed && why === error) return;
        [feed, error] = [state, why];
        flush();
      },
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [path]);
  return state.path === path ? state : { value: initial, feed: "connecting", error: null };
}
