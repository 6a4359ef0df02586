/**
 * Whether the server answers. Every call reports here; while it does not answer, a quiet probe
 * looks for its return.
 */
import { useSyncExternalStore } from "react";
import { serverPath } from "./base";

let online = true;
let probe: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();
const PROBE_MS = 3000;

export function reportReachable(reachable: boolean): void {
  if (reachable === online) return;
  online = reachable;
  for (const listener of listeners) listener();
  clearTimeout(probe);
  if (!reachable) probe = setTimeout(look, PROBE_MS);
}

async function look() {
  try {
    const answer = await fetch(serverPath("/healthz"), { cache: "no-store" });
    if (answer.ok) return reportReachable(true);
  } catch {
    // Still away.
  }
  probe = setTimeout(look, PROBE_MS);
}

export const isReachable = () => online;

export function onReachable(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useConnection(): boolean {
  return useSyncExternalStore(onReachable, isReachable);
}
