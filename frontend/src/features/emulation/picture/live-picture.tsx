/** The picture at the shown time: it alone follows every tick. */
import { memo, type RefObject, useMemo } from "react";
import type { Experiment } from "@/api/types";
import type { ThemeName } from "@/units";
import { detoursAt } from "../session/detours";
import type { Tick } from "../session/frames";
import { useLiveSession } from "../session/live-session";
import { brokenItems, type Item, type Network, stepsOf } from "../session/network";
import { brokenAt, waysAt } from "../session/session";
import { unpluggedAt } from "../session/upgrade";
import { tickAt } from "../session/use-window";
import { FloorView } from "./floor-view";
import { LiveLegend } from "./live-legend";
import { type TopologyHandle, TopologyView } from "./topology-view";

export const LivePicture = memo(function LivePicture({
  view,
  network,
  experiment,
  at,
  window,
  selection,
  targets,
  injecting,
  theme,
  onSelect,
  handleRef,
}: {
  view: "floor" | "logical";
  network: Network;
  experiment: Experiment;
  /** Null follows the newest tick. */
  at: number | null;
  /** Ticks around that time, where the session has seconds. */
  window: readonly Tick[];
  selection: Item | null;
  targets: readonly Item[];
  injecting: boolean;
  theme: ThemeName;
  onSelect: (item: Item | null) => void;
  handleRef: RefObject<TopologyHandle | null>;
}) {
  const session = useLiveSession();
  const shownAt = at ?? Number.POSITIVE_INFINITY;
  const { history, faults, upgrades } = session;
  const tick = tickAt(history, window, shownAt);
  // The faults change seldom: a new list each time, so its length stands for it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const broken = useMemo(
    () =>
      brokenItems(network, [...unpluggedAt(network, { upgrades }, shownAt), ...brokenAt(faults, shownAt)]),
    [network, faults.length, upgrades.length, shownAt],
  );
  const flow = selection?.kind === "flow" ? selection.row : null;
  const { route, former } = waysAt(session, flow, shownAt);
  const path = useMemo(() => (route ? stepsOf(network, route.path) : []), [network, route]);
  const formerPath = useMemo(() => (former ? stepsOf(network, former.path) : []), [network, former]);
  const detours = useMemo(
    () => detoursAt(network, session.events, shownAt),
    [network, session.events, shownAt],
  );
  const picture = {
    network,
    tick,
    broken,
    selection,
    targets,
    path,
    formerPath,
    detours,
    injecting,
    theme,
    onSelect,
    handleRef,
  };
  return view === "floor" ? (
    <FloorView {...picture} experiment={experiment} />
  ) : (
    <>
      <TopologyView {...picture} />
      <LiveLegend network={network} detours={detours.length > 0} theme={theme} />
    </>
  );
});
