/**
 * Ticking cables off: kept at once, sent when the server answers, shown as waiting until it has
 * them.
 */
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { api, take, UnreachableError } from "@/api/client";
import { isReachable, onReachable } from "@/api/connection";
import type { Mark } from "@/api/types";
import { toast } from "@/ui/toast";
import { workKey } from "./use-work";
import { batchOf, forget, keep, readWaiting, type Tick, type Waiting, withoutSent } from "./waiting";

const MOST_AT_ONCE = 500;
const SEND_AGAIN_MS = 5000;

export interface Ticks {
  waiting: Waiting;
  /**
   * The server's reason for rejecting them; they are kept and sent again. Null if the server is
   * only unreachable.
   */
  refused: Error | null;
  tick: (cable: number, tick: Tick) => void;
  sendAgain: () => void;
  discard: () => void;
}

export function useTicks(plan: string, revision: number): Ticks {
  const [waiting, setWaiting] = useState<Waiting>(() => kept(plan, revision));
  const [refused, setRefused] = useState<Error | null>(null);
  const latest = useRef(waiting);
  const sending = useRef(false);
  const client = useQueryClient();
  const change = useCallback((next: Waiting) => {
    latest.current = next;
    setWaiting(next);
  }, []);

  const send = useCallback(async () => {
    if (sending.current) return;
    sending.current = true;
    try {
      while (latest.current.size > 0) {
        const sent = batchOf(latest.current, MOST_AT_ONCE);
        showMarks(client, plan, revision, sent, await put(plan, revision, sent));
        const rest = withoutSent(latest.current, sent);
        for (const cable of sent.keys()) if (!rest.has(cable)) forget(localStorage, plan, revision, cable);
        change(rest);
        setRefused(null);
      }
    } catch (error) {
      setRefused(error instanceof UnreachableError ? null : (error as Error));
    } finally {
      sending.current = false;
    }
  }, [plan, revision, client, change]);

  useEffect(() => {
    void send();
    const timer = setInterval(() => void send(), SEND_AGAIN_MS);
    const stop = onReachable(() => {
      if (isReachable()) void send();
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [send]);

  const tick = useCallback(
    (cable: number, made: Tick) => {
      const isKept = keep(localStorage, plan, revision, cable, made);
      if (!isKept) toast("This browser keeps nothing: stay on this page until it is sent", "error");
      change(new Map(latest.current).set(cable, made));
      void send();
    },
    [plan, revision, change, send],
  );
  const discard = useCallback(() => {
    for (const cable of latest.current.keys()) forget(localStorage, plan, revision, cable);
    change(new Map());
    setRefused(null);
  }, [plan, revision, change]);
  return { waiting, refused, tick, sendAgain: () => void send(), discard };
}

function kept(plan: string, revision: number): Waiting {
  try {
    return readWaiting(localStorage, plan, revision);
  } catch {
    return new Map();
  }
}

/** The marks that the cables have afterwards. */
async function put(plan: string, revision: number, ticks: Waiting): Promise<Mark[]> {
  const marks = [...ticks].map(([cable, tick]) => ({ cable, ...tick }));
  const answer = await take(
    api.PUT("/api/v1/plans/{id}/revisions/{revision}/work/marks", {
      params: { path: { id: plan, revision } },
      body: { marks },
    }),
  );
  return answer.items;
}

/**
 * Writes the server's answer into the cached marks, so that no cable flickers back to open, and
 * reloads the counts.
 */
function showMarks(client: QueryClient, plan: string, revision: number, sent: Waiting, marks: Mark[]): void {
  const key = workKey(plan, revision);
  client.setQueriesData<Mark[]>({ queryKey: [...key, "marks"] }, (old) =>
    old ? [...old.filter((mark) => !sent.has(mark.cable)), ...marks] : old,
  );
  void client.invalidateQueries({ queryKey: key });
}
