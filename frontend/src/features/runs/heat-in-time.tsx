/**
 * The load of a simulation's links at a moment of its time, over the plan; during the run, the
 * newest.
 */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useId, useMemo } from "react";
import type { Experiment } from "@/api/types";
import { useCrosshair } from "@/charts/crosshair";
import type { LinkHeat } from "@/scene/heat";
import { usePicture } from "@/shared/plans/use-picture";
import { Block } from "@/shared/runs/block";
import block from "@/shared/runs/block.module.css";
import { specOfTopology } from "@/shared/runs/run-points";
import type { RunSearch } from "@/shared/runs/run-url";
import { ProblemView } from "@/shared/server/problem";
import { Skeleton } from "@/ui/marks";
import { ScrubBar } from "@/ui/scrub-bar";
import { usePlayback } from "@/ui/use-playback";
import { formatCount, formatPercent, formatShort } from "@/units";
import { HeatPicture, useSelected } from "./heat-picture";
import { boundsOf, busierOf, frameAt, type HeatInTime as Heat, utilisationOf } from "./link-heat";
import { LinksTable } from "./links-table";
import styles from "./runs.module.css";

/** How long the whole takes to play, at speed 1. */
const PLAYED_SECS = 10;
const share = (value: number) => formatPercent(value, 1);

function useSetSearch(): (change: Partial<RunSearch>) => void {
  const navigate = useNavigate();
  return useCallback(
    (change) =>
      void navigate({ from: "/runs/$id", to: ".", search: (old) => ({ ...old, ...change }), replace: true }),
    [navigate],
  );
}

const pictureOf = (load: Parameters<typeof busierOf>[0]): LinkHeat => ({
  title: "Utilisation per link, busier direction",
  values: busierOf(load),
  domain: [0, 1],
  format: formatPercent,
});

export default function HeatInTime({
  experiment,
  point,
  topology,
  heat,
  simulatedSecs,
  over,
  provenance,
}: {
  experiment: Experiment;
  point: number;
  topology: number;
  heat: Heat;
  simulatedSecs: number;
  /** The length of the whole run. */
  over: boolean;
  provenance: string;
}) {
  const id = useId();
  const search = useSearch({ strict: false }) as RunSearch;
  const setSearch = useSetSearch();
  const { onAt } = useCrosshair("time");
  const [playback, setPlayback] = usePlayback(
    search.at ?? null,
    simulatedSecs,
    useCallback(
      (at: number | null) => setSearch({ at: at === null ? undefined : Number(at.toPrecision(6)) }),
      [setSearch],
    ),
    simulatedSecs / PLAYED_SECS,
  );
  const spec = useMemo(() => specOfTopology(experiment, topology), [experiment, topology]);
  const { model, planHash, error, retry } = usePicture(spec);
  const { selection, select } = useSelected(
    model,
    search.sel,
    useCallback((sel: string | undefined) => setSearch({ sel }), [setSearch]),
  );
  const frame = frameAt(heat, playback.at ?? simulatedSecs);
  const cables = model?.cables.count ?? 0;
  const load = useMemo(() => utilisationOf(heat, frame, cables), [heat, frame, cables]);
  const picture = useMemo(() => pictureOf(load), [load]);
  const [from, to] = boundsOf(heat, frame, simulatedSecs);
  const digits = Math.max(0, Math.ceil(-Math.log10(heat.step_secs)) + 2);
  const text = (secs: number) => `${formatShort(secs * 1000, Math.max(0, digits - 3))}\u00a0ms`;
  const which = `${text(from)} to ${text(to)}`;
  const move = (change: Parameters<typeof setPlayback>[0]) => {
    setPlayback(change);
    if (change.at !== undefined) onAt(change.at);
  };
  if (error) return <ProblemView error={error} onRetry={() => void retry()} />;
  if (!model) return <Skeleton height={320} />;
  const view = search.view ?? "logical";
  return (
    <Block label="Links in time" aside={`mean of ${which} of virtual time`}>
      <HeatPicture
        model={model}
        heat={picture}
        view={view}
        onView={(next) => setSearch({ view: next === "logical" ? undefined : next })}
        selection={selection}
        select={select}
        name={`links-${planHash?.slice(0, 10)}-point-${point}-${frame}`}
        provenance={`${provenance} · ${which}`}
        describedBy={`${id}-links`}
      />
      <div className={styles.scrub}>
        <ScrubBar
          from={0}
          to={heat.permille.length * heat.step_secs}
          end={heat.permille.length > 0 ? simulatedSecs : null}
          step={heat.step_secs}
          text={text}
          over={over}
          playback={playback}
          setPlayback={move}
        />
      </div>
      {heat.links_used > heat.links.length && (
        <p className={block.note}>
          {`The ${formatCount(heat.links.length)} busiest of ${formatCount(heat.links_used)} used directions; the others are not drawn.`}
        </p>
      )}
      <LinksTable
        id={`${id}-links`}
        model={model}
        load={load}
        selection={selection}
        select={select}
        name={`links-${planHash?.slice(0, 10)}-point-${point}-${frame}`}
        format={share}
      />
    </Block>
  );
}
