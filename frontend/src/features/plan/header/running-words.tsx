/** Progress of an export as text: in the menu and at the foot of the page. */
import { useEffect, useState } from "react";
import { formatBytes, formatPercent } from "@/units";
import type { Running } from "./use-export";

/** The share of the file that is generated or downloaded; null while unknown. */
export function shareOf({ making, received, total }: Running): number | null {
  if (making) return making.share;
  return total ? received / total : null;
}

/** `short`: without a description of the step. */
export function RunningWords({ running, short }: { running: Running; short?: boolean }) {
  const { making, received } = running;
  const secs = useSecs();
  if (received > 0) return formatBytes(received);
  if (making) {
    const share = formatPercent(making.share);
    return short ? share : `${share} ${making.doing || "waiting for a worker"}`;
  }
  return `${secs} s`;
}

/** Whole seconds since this was first shown. */
function useSecs(): number {
  const [secs, setSecs] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSecs((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return secs;
}
