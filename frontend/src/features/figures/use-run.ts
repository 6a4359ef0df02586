import { useEffect, useRef } from "react";
import type { FigureResult } from "@/api/types";
import { useRunFeed } from "@/shared/runs/run-feed";
import { isOver, type LiveRun, liveRun } from "@/shared/runs/runs";

interface Followed {
  live: Partial<LiveRun> | null;
  /** The partial result of the figure. */
  partial: FigureResult | null;
}

const NOTHING: Followed = { live: null, partial: null };

/**
 * A run as it goes, what it has to show, and why it cannot be followed. `onOver` is called once,
 * when the run is in its last state.
 */
export function useRun(id: string | null, onOver: () => void): Followed & { error: unknown } {
  const { value, feed, error } = useRunFeed<Followed>(
    id === null ? null : `/api/v1/runs/${id}/events`,
    NOTHING,
    ({ live, partial }, events) => {
      const last = events.findLast((event) => event.event === "figure");
      return {
        live: events.reduce(liveRun, live ?? {}),
        partial: last ? (JSON.parse(last.data) as FigureResult) : partial,
      };
    },
  );
  const over = useRef(onOver);
  over.current = onOver;
  const state = value.live?.state;
  const ended = state !== undefined && isOver(state);
  useEffect(() => {
    if (ended) over.current();
  }, [ended]);
  return { ...value, error: feed === "refused" ? error : null };
}
