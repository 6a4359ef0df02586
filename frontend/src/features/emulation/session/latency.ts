/** How long responses took, from the counts by bucket that ticks have. */
import type { components } from "@/api/schema";

type Counts = components["schemas"]["LatencyCounts"];

/** Latencies of a tick's answers, in seconds. */
export interface Latency {
  median: number;
  p99: number;
  max: number;
}

/** Buckets of an octave. */
const OF_OCTAVE = 16;

/** The least latency in a bucket, in seconds. */
export function leastSecs(bucket: number): number {
  const octave = Math.max(Math.floor(bucket / OF_OCTAVE) - 1, 0);
  return ((bucket - octave * OF_OCTAVE) * 2 ** octave) / 1e9;
}

/** Null where nothing was answered. */
export function latencyOf(counts: Counts | undefined): Latency | null {
  if (!counts || counts.answered === 0) return null;
  const at = (share: number) => {
    let seen = 0;
    for (const [bucket, count] of counts.buckets) {
      seen += count;
      if (seen >= share * counts.answered)
        return Math.min((leastSecs(bucket) + leastSecs(bucket + 1)) / 2, counts.max_secs);
    }
    return counts.max_secs;
  };
  return { median: at(0.5), p99: at(0.99), max: counts.max_secs };
}
