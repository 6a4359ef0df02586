/** The same loads where the cables lie: rack by rack, or on the floor where there are many racks. */
import { useCallback, useMemo } from "react";
import type { Experiment } from "@/api/types";
import { HeatLegend } from "@/render/heat-legend";
import { PlanCanvas } from "@/render/plan-canvas";
import type { LinkHeat } from "@/scene/heat";
import type { PlanModel } from "@/scene/model";
import type { Selection } from "@/scene/selection";
import { Skeleton } from "@/ui/marks";
import { formatBitsPerSec } from "@/units";
import { ProblemView } from "../shared/problem";
import type { PlanSpec } from "../shared/spec";
import { usePicture } from "../shared/use-picture";
import styles from "./emulation.module.css";
import { LiveLegend } from "./live-legend";
import type { Network } from "./network";
import { MOST_RACKS, rackLayoutOf, racksOf } from "./rack-layout";
import { type TopologyHandle, TopologyView, type TopologyViewProps } from "./topology-view";
import { useThrottled } from "./use-throttled";

/** Above so many cables a floor takes longer to draw than a tick lasts. */
const MANY_CABLES = 1000;

export function FloorView({ experiment, ...props }: TopologyViewProps & { experiment: Experiment }) {
  const { network, theme } = props;
  const { model, error, retry } = usePicture(experiment.plan.spec as PlanSpec);
  const layoutFor = useCallback(
    (of: Network, width: number, height: number) => rackLayoutOf(of, model!, width, height),
    [model],
  );
  const racks = useMemo(() => (model ? racksOf(network, model).length : 0), [network, model]);
  if (error) return <ProblemView error={error} onRetry={() => void retry()} />;
  if (!model) return <Skeleton height={360} />;
  if (racks > MOST_RACKS) return <FloorCanvas model={model} {...props} />;
  return (
    <>
      <TopologyView {...props} layoutFor={layoutFor} />
      <LiveLegend network={network} theme={theme} />
    </>
  );
}

function FloorCanvas({
  model,
  network,
  tick,
  theme,
  onSelect,
  handleRef,
}: TopologyViewProps & { model: PlanModel }) {
  const shown = useThrottled(tick, model.cables.count > MANY_CABLES ? 1000 : 0);
  const heat = useMemo<LinkHeat>(() => {
    const values = new Float64Array(model.cables.count);
    if (shown)
      network.frame.links.id.forEach((cable, row) => {
        values[cable] = (Math.max(shown.ab[row]!, shown.ba[row]!) * 8) / shown.secs;
      });
    return {
      title: "Rate of a link’s fuller direction",
      values,
      domain: [0, network.frame.rate_bits_per_sec],
      format: formatBitsPerSec,
    };
  }, [model, network, shown]);
  const select = useCallback(
    (selection: Selection) => {
      const [id] = selection?.ids ?? [];
      if (id === undefined) return onSelect(null);
      if (selection!.kind === "cable") {
        const row = network.frame.links.id.indexOf(id);
        if (row >= 0) onSelect({ kind: "link", row });
      } else if (selection!.kind === "device") onSelect(network.byName.get(model.devices.names[id]!) ?? null);
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
      <div className={styles.picture} data-testid="plan-canvas">
        <PlanCanvas
          model={model}
          view="floor"
          heat={heat}
          theme={theme}
          onSelect={select}
          handleRef={setHandle}
        />
      </div>
      <HeatLegend heat={heat} theme={theme} />
    </>
  );
}
