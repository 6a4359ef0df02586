import { useEffect, useRef } from "react";
import { useRunFeed } from "../shared/run-feed";
import { isOver, type LiveRun, liveRun } from "../shared/runs";

/** A run as it goes, and why it cannot be followed. `onOver` is called once, when the run is in its last state. */
export function useRun(
  id: string | null,
  onOver: () => void,
): { live: Partial<LiveRun> | null; error: unknown } {
  const { value, feed, error } = useRunFeed<Partial<LiveRun> | null>(
    id === null ? null : `/api/v1/runs/${id}/events`,
    null,
    (run, events) => events.reduce(liveRun, run ?? {}),
  );
  const over = useRef(onOver);
  over.current = onOver;
  const ended = value?.state !== undefined && isOver(value.state);
  useEffect(() => {
    if (ended) over.current();
  }, [ended]);
  return { live: value, error: feed === "refused" ? error : null };
}
