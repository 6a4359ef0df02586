import { useEffect, useRef, useState } from "react";
import { ApiError, api, take } from "@/api/client";
import type { Run } from "@/api/types";
import { isOver } from "./figures";

export type LiveRun = Pick<Run, "state" | "reason"> & Partial<Pick<Run, "progress" | "remaining_secs">>;

const POLL_MS = 1000;

/**
 * A run as it goes, from its stream of events. A stream that cannot be had (it takes no token) or that has ended is
 * replaced by asking every second. `onOver` is called once, when the run is in its last state.
 */
export function useRun(id: string | null, onOver: () => void): { live: LiveRun | null; error: unknown } {
  const [told, setTold] = useState<{ id: string; live: LiveRun } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const over = useRef(onOver);
  over.current = onOver;

  useEffect(() => {
    if (id === null) return;
    setError(null);
    let timer: ReturnType<typeof setTimeout> | undefined;
    let done = false;
    const stream = new EventSource(`/api/v1/runs/${id}/events`);
    const stop = () => {
      done = true;
      stream.close();
      clearTimeout(timer);
    };
    const tell = (live: LiveRun) => {
      if (done) return;
      setTold((old) => ({ id, live: old?.id === id ? { ...old.live, ...live } : live }));
      if (!isOver(live.state)) return;
      stop();
      over.current();
    };
    const poll = async () => {
      try {
        tell(await take(api.GET("/api/v1/runs/{id}", { params: { path: { id } } })));
      } catch (caught) {
        // A server that is away may come back; its own answer is final.
        if (caught instanceof ApiError && !done) {
          stop();
          setError(caught);
        }
      }
      if (!done) timer = setTimeout(() => void poll(), POLL_MS);
    };
    for (const name of ["state", "progress"])
      stream.addEventListener(name, (event) =>
        tell(JSON.parse((event as MessageEvent<string>).data) as LiveRun),
      );
    stream.onerror = () => {
      if (stream.readyState === EventSource.CLOSED && !done) void poll();
    };
    return stop;
  }, [id]);

  return { live: told !== null && told.id === id ? told.live : null, error };
}
