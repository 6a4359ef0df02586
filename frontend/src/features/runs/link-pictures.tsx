/** The load of links, drawn over the plan, then their distribution and a table. */
import { useId, useMemo } from "react";
import type { LinkHeat } from "@/scene/heat";
import { usePicture } from "@/shared/plans/use-picture";
import { fullerDirection, type LinkLoad, type Point, type specOfTopology } from "@/shared/runs/run-points";
import { ProblemView } from "@/shared/server/problem";
import { Skeleton } from "@/ui/marks";
import { formatCount } from "@/units";
import { HeatPicture, type PictureView, useSelected } from "./heat-picture";
import { LinksTable } from "./links-table";
import { LoadChart } from "./load-chart";
import { pointText } from "./numbers-panel";
import styles from "./runs.module.css";

export interface LinkPicturesProps extends PictureView {
  point: Point;
  provenance: string;
}

export function LinkPictures({
  point,
  load,
  spec,
  view,
  onView,
  sel,
  onSel,
  provenance,
}: LinkPicturesProps & { load: LinkLoad; spec: ReturnType<typeof specOfTopology> }) {
  const { model, planHash, error, retry } = usePicture(spec);
  const id = useId();
  const heat = useMemo<LinkHeat>(
    () => ({
      title: "Flows per link, busier direction",
      values: fullerDirection(load),
      format: formatCount,
    }),
    [load],
  );
  const { selection, select } = useSelected(model, sel, onSel);
  if (error) return <ProblemView error={error} onRetry={() => void retry()} />;
  if (!model) return <Skeleton height={320} />;
  const name = `links-${planHash?.slice(0, 10)}-point-${point.point}`;
  const from = `${provenance} · plan ${planHash?.slice(0, 10)} · ${pointText(point)}`;
  return (
    <>
      <HeatPicture
        model={model}
        heat={heat}
        view={view}
        onView={onView}
        selection={selection}
        select={select}
        name={name}
        provenance={from}
        describedBy={`${id}-links`}
      />
      <LoadChart model={model} load={load} levels={point.result.link_flows_by_level} provenance={from} />
      <LinksTable
        id={`${id}-links`}
        model={model}
        load={load}
        selection={selection}
        select={select}
        name={name}
      />
      <p className={styles.provenance}>{from}</p>
    </>
  );
}
