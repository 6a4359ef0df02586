/**
 * Many racks from above: each cable on its trays by its load, faults marked, the selection in
 * front.
 */
import { useCallback, useMemo } from "react";
import { HeatLegend } from "@/render/heat-legend";
import { PlanCanvas } from "@/render/plan-canvas";
import type { LinkHeat } from "@/scene/heat";
import type { PlanModel } from "@/scene/model";
import type { Selection } from "@/scene/selection";
import { formatBitsPerSec } from "@/units";
import { fastestOf } from "../session/network";
import { useThrottled } from "../session/use-throttled";
import common from "./common.module.css";
import { floorSelection, struckOf } from "./floor-items";
import { BrokenLegend } from "./live-legend";
import type { TopologyHandle, TopologyViewProps } from "./topology-view";

/** With more cables than this, drawing a floor takes longer than a tick. */
const MANY_CABLES = 1000;

export function FloorCanvas({
  model,
  network,
  tick,
  broken,
  selection,
  targets,
  path,
  injecting,
  theme,
  onSelect,
  handleRef,
}: TopologyViewProps & { model: PlanModel }) {
  const shown = useThrottled(tick, model.cables.count > MANY_CABLES ? 1000 : 0);
  const heat = useMemo<LinkHeat>(() => {
    // The rest of a plan of which a slice is run is not there to carry anything.
    const values = new Float64Array(model.cables.count).fill(Number.NaN);
    network.frame.links.id.forEach((cable, row) => {
      values[cable] = shown ? (Math.max(shown.ab[row]!, shown.ba[row]!) * 8) / shown.secs : 0;
    });
    return {
      title: "Link rate, busier direction",
      values,
      domain: [0, fastestOf(network)],
      format: formatBitsPerSec,
    };
  }, [model, network, shown]);
  const struck = useMemo(() => struckOf(network, broken), [network, broken]);
  const chosen = useMemo(
    () => floorSelection(network, injecting ? targets : selection ? [selection] : [], path),
    [network, injecting, targets, selection, path],
  );
  const select = useCallback(
    (picked: Selection) => {
      const [id] = picked?.ids ?? [];
      if (id === undefined) return onSelect(null);
      if (picked!.kind === "cable") {
        const row = network.frame.links.id.indexOf(id);
        if (row >= 0) onSelect({ kind: "link", row });
      } else if (picked!.kind === "device") onSelect(network.byName.get(model.devices.names[id]!) ?? null);
    },
    [model, network, onSelect],
  );
  const setHandle = useCallback(
    (handle: TopologyHandle | null) => {
      if (handleRef) handleRef.current = handle;
    },
    [handleRef],
  );
  return (
    <>
      <div className={common.picture} data-injecting={injecting || undefined} data-testid="plan-canvas">
        <PlanCanvas
          model={model}
          view="floor"
          heat={heat}
          struck={struck}
          selection={chosen}
          theme={theme}
          onSelect={select}
          handleRef={setHandle}
        />
      </div>
      <HeatLegend heat={heat} theme={theme} />
      <BrokenLegend theme={theme} />
    </>
  );
}
