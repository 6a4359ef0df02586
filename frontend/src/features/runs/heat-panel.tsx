/** The load of every link at one point: as saved with the run, or computed again. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, take } from "@/api/client";
import type { Experiment } from "@/api/types";
import { generalKind } from "@/shared/faults/fault-kinds";
import { Block } from "@/shared/runs/block";
import { type LinkLoad, specOfTopology } from "@/shared/runs/run-points";
import { ProblemView } from "@/shared/server/problem";
import { Button } from "@/ui/button";
import { Skeleton } from "@/ui/marks";
import { LinkPictures, type LinkPicturesProps } from "./link-pictures";
import { pointText } from "./numbers-panel";
import styles from "./runs.module.css";

export interface HeatPanelProps extends LinkPicturesProps {
  experiment: Experiment;
  /** The saved link loads of this point. */
  load: LinkLoad | undefined;
}

export function HeatPanel(props: HeatPanelProps) {
  const { experiment, point, load: kept } = props;
  const spec = specOfTopology(experiment, point.topology);
  const [wanted, setWanted] = useState(false);
  // The same question once more, with its links: the seed makes it the same answer.
  const query = useQuery({
    queryKey: ["links", experiment.id, point.point],
    enabled: wanted && !kept,
    queryFn: async ({ signal }) => {
      const { workload, routing, faults, link_gbps } = experiment;
      const failed = point.kind && point.ratio ? [{ target: { kind: point.kind, ratio: point.ratio } }] : [];
      const answer = await take(
        api.POST("/api/v1/predict", {
          body: {
            plan: spec,
            workload,
            routing,
            link_gbps,
            faults: [...faults, ...failed.map((fault) => ({ ...fault, at_secs: 0, kind: generalKind() }))],
            engine: "flow",
            max_min: false,
            link_load: true,
            seed: point.seed,
          },
          signal,
        }),
      );
      if (!answer.link_load) throw new Error("The prediction has no per-link loads.");
      return answer.link_load;
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const load = kept ?? query.data;
  return (
    <Block label="Links" aside={`load per link, ${pointText(point)}`}>
      {load ? (
        <LinkPictures {...props} spec={spec} load={load} />
      ) : query.isError ? (
        <ProblemView error={query.error} onRetry={() => void query.refetch()} />
      ) : wanted ? (
        <Skeleton height={320} />
      ) : (
        <p className={styles.offer}>
          This run did not save per-link loads for this point.
          <Button small icon="play" onClick={() => setWanted(true)}>
            Compute them
          </Button>
        </p>
      )}
    </Block>
  );
}
