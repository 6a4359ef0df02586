/**
 * Maps each kind of run to the feature that shows it. Features do not import each other, so they
 * are combined here.
 */
import { lazy } from "react";
import RunPage, { type RunViews } from "@/features/runs/run-page";

const VIEWS: RunViews = {
  figure: lazy(() => import("@/features/runs/figure-run")),
  engines: {
    flow: lazy(() => import("@/features/runs/flow-run")),
    packet: lazy(() => import("@/features/runs/packet-run")),
    emulation: lazy(() => import("@/features/emulation/emulation-run")),
  },
};

export default function RunRoute() {
  return <RunPage views={VIEWS} />;
}
