/**
 * The position of a queued run: the number of runs before it, and the approximate waiting time.
 * Polled until it starts.
 */
import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import type { Run } from "@/api/types";
import { plural } from "@/units";
import { aboutText } from "./runs";

const ASK_AGAIN_MS = 2000;

export function QueuePlace({ run }: { run: string }) {
  const { data } = useQuery({
    queryKey: ["run", run, "queue"],
    queryFn: () => take(api.GET("/api/v1/runs/{id}", { params: { path: { id: run } } })),
    refetchInterval: ASK_AGAIN_MS,
  });
  return placeText(data?.queue ?? null);
}

/** "Waiting: 2 runs come first, about 3 minutes". */
export function placeText(place: Run["queue"]): string {
  if (place === null || place.before === 0) return "Waiting for a worker…";
  const first = `Waiting: ${plural(place.before, "run")} ${place.before === 1 ? "comes" : "come"} first`;
  return place.wait_secs === null ? first : `${first}, ${aboutText(place.wait_secs)}`;
}
