/** The same loads where the cables lie: on the plan's floor. */
import { useCallback, useMemo } from "react";
import type { Experiment } from "@/api/types";
import { HeatLegend } from "@/render/heat-legend";
import { PlanCanvas } from "@/render/plan-canvas";
import type { LinkHeat } from "@/scene/heat";
import type { Selection } from "@/scene/selection";
import { Skeleton } from "@/ui/marks";
import { formatBitsPerSec, type ThemeName } from "@/units";
import { ProblemView } from "../shared/problem";
import type { PlanSpec } from "../shared/spec";
import { usePicture } from "../shared/use-picture";
import styles from "./emulation.module.css";
import type { Tick } from "./frames";
import type { Item, Network } from "./network";
import { useThrottled } from "./use-throttled";

/** Above so many cables a floor takes longer to draw than a tick lasts. */
const MANY_CABLES = 1000;

export function FloorView({
  experiment,
  network,
  tick,
  theme,
  onSelect,
}: {
  experiment: Experiment;
  network: Network;
  tick: Tick | null;
  theme: ThemeName;
  onSelect: (item: Item | null) => void;
}) {
  const { model, error, retry } = usePicture(experiment.plan.spec as PlanSpec);
  const shown = useThrottled(tick, (model?.cables.count ?? 0) > MANY_CABLES ? 1000 : 0);
  const heat = useMemo<LinkHeat | null>(() => {
    if (!model) return null;
    const values = new Float64Array(model.cables.count);
    if (shown)
      network.frame.links.id.forEach((cable, row) => {
        values[cable] = (Math.max(shown.ab[row]!, shown.ba[row]!) * 8) / shown.secs;
      });
    return { title: "Rate of a link’s fuller direction", values, format: formatBitsPerSec };
  }, [model, network, shown]);
  const select = useCallback(
    (selection: Selection) => {
      const [id] = selection?.ids ?? [];
      if (id === undefined) return onSelect(null);
      if (selection!.kind === "cable") {
        const row = network.frame.links.id.indexOf(id);
        if (row >= 0) onSelect({ kind: "link", row });
      } else if (selection!.kind === "device")
        onSelect(network.byName.get(model!.devices.names[id]!) ?? null);
    },
    [model, network, onSelect],
  );
  if (error) return <ProblemView error={error} onRetry={() => void retry()} />;
  if (!model || !heat) return <Skeleton height={360} />;
  return (
    <>
      <div className={styles.picture} data-testid="plan-canvas">
        <PlanCanvas model={model} view="floor" heat={heat} theme={theme} onSelect={select} />
      </div>
      <HeatLegend heat={heat} theme={theme} />
      {model.racks.count === 1 && (
        <p className={styles.doc}>
          Everything stands in one rack, so no cable crosses the floor: the logical view shows them all.
        </p>
      )}
    </>
  );
}
