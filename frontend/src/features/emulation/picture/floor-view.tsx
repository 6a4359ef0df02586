/** The loads at the cables' positions: rack by rack, or on the floor if there are many racks. */
import { useCallback, useMemo } from "react";
import type { Experiment } from "@/api/types";
import type { PlanSpec } from "@/shared/plans/spec";
import { usePicture } from "@/shared/plans/use-picture";
import { ProblemView } from "@/shared/server/problem";
import { Skeleton } from "@/ui/marks";
import type { Network } from "../session/network";
import { FloorCanvas } from "./floor-canvas";
import { MOST_RACKS, rackLayoutOf, racksOf } from "./layouts/racks";
import { LiveLegend } from "./live-legend";
import { TopologyView, type TopologyViewProps } from "./topology-view";

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
      <LiveLegend network={network} detours={props.detours.length > 0} theme={theme} />
    </>
  );
}
