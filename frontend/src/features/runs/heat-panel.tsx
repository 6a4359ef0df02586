/** What every link carries at one point, on the plan's floor, in its logical view and as a table. */
import { useQuery } from "@tanstack/react-query";
import { useCallback, useId, useMemo, useRef, useState } from "react";
import { api, take } from "@/api/client";
import type { Experiment } from "@/api/types";
import { HeatLegend } from "@/render/heat-legend";
import { PlanCanvas, type PlanCanvasHandle } from "@/render/plan-canvas";
import type { LinkHeat } from "@/scene/heat";
import type { PlanModel } from "@/scene/model";
import { highlightOf, type Selection } from "@/scene/selection";
import { Button, IconButton } from "@/ui/button";
import { saveFile } from "@/ui/clipboard";
import { DataTable } from "@/ui/data-table";
import { Skeleton } from "@/ui/marks";
import { csvOf, type SortBy } from "@/ui/table-order";
import { Tabs } from "@/ui/tabs";
import { formatCount, formatShare, plural } from "@/units";
import { nameSelection, resolveSelection } from "../shared/names";
import { ProblemView } from "../shared/problem";
import { fullerDirection, type LinkLoad, type Point, specOfTopology } from "../shared/run-points";
import { useTheme } from "../shared/theme";
import { readSelection, writeSelection } from "../shared/url-state";
import { usePicture } from "../shared/use-picture";
import { linkColumns } from "./link-columns";
import { pointText } from "./numbers-panel";
import styles from "./runs.module.css";

const VIEWS = [
  { id: "floor", label: "Floor" },
  { id: "logical", label: "Logical" },
] as const;

export interface HeatPanelProps {
  experiment: Experiment;
  point: Point;
  /** What the run kept of this point's links. */
  load: LinkLoad | undefined;
  view: "floor" | "logical";
  onView: (view: "floor" | "logical") => void;
  sel: string | undefined;
  onSel: (sel: string | undefined) => void;
  provenance: string;
}

export function HeatPanel(props: HeatPanelProps) {
  const { experiment, point, load: kept } = props;
  const spec = specOfTopology(experiment, point.topology);
  const [wanted, setWanted] = useState(false);
  // The same question once more, with its links: the seed makes it the same answer.
  const asked = useQuery({
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
            faults: [...faults, ...failed.map((fault) => ({ ...fault, at_secs: 0, kind: "down" as const }))],
            engine: "flow",
            max_min: false,
            link_load: true,
            seed: point.seed,
          },
          signal,
        }),
      );
      if (!answer.link_load) throw new Error("The prediction came back without its links.");
      return answer.link_load;
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const load = kept ?? asked.data;
  return (
    <section className={styles.block} aria-label="Links">
      <div className={styles.blockHead}>
        <h2>Links</h2>
        <span className={styles.muted}>{`what each carries, ${pointText(point)}`}</span>
      </div>
      {load ? (
        <Pictures {...props} spec={spec} load={load} />
      ) : asked.isError ? (
        <ProblemView error={asked.error} onRetry={() => void asked.refetch()} />
      ) : wanted ? (
        <Skeleton height={320} />
      ) : (
        <p className={styles.offer}>
          The run kept no link’s load of this point.
          <Button small icon="play" onClick={() => setWanted(true)}>
            Show its links
          </Button>
        </p>
      )}
    </section>
  );
}

function Pictures({
  point,
  load,
  spec,
  view,
  onView,
  sel,
  onSel,
  provenance,
}: HeatPanelProps & { load: LinkLoad; spec: ReturnType<typeof specOfTopology> }) {
  const { model, planHash, error, retry } = usePicture(spec);
  const theme = useTheme((state) => state.name);
  const id = useId();
  const handle = useRef<PlanCanvasHandle | null>(null);
  const heat = useMemo<LinkHeat>(
    () => ({
      title: "Flows on a link’s fuller direction",
      values: fullerDirection(load),
      format: formatCount,
    }),
    [load],
  );
  const selection = useMemo(() => (model ? resolveSelection(model, readSelection(sel)) : null), [model, sel]);
  const select = useCallback(
    (next: Selection) => onSel(model ? writeSelection(nameSelection(model, next)) : undefined),
    [model, onSel],
  );
  if (error) return <ProblemView error={error} onRetry={() => void retry()} />;
  if (!model) return <Skeleton height={320} />;
  const name = `links-${planHash?.slice(0, 10)}-point-${point.point}`;
  const from = `${provenance} · plan ${planHash?.slice(0, 10)} · ${pointText(point)}`;
  return (
    <>
      <div className={styles.bar}>
        <Tabs label="Views" panelId={`${id}-view`} value={view} onChange={onView} items={[...VIEWS]} />
        <span className={styles.space} />
        <IconButton small icon="plus" label="Zoom in" onClick={() => handle.current?.zoomIn()} />
        <IconButton small icon="minus" label="Zoom out" onClick={() => handle.current?.zoomOut()} />
        <IconButton small icon="fit" label="Fit to the window" onClick={() => handle.current?.fit()} />
        <Button
          small
          onClick={() =>
            handle.current &&
            saveFile(new Blob([handle.current.toSvg(from)], { type: "image/svg+xml" }), `${name}.svg`)
          }
        >
          SVG
        </Button>
        <Button
          small
          onClick={() => void handle.current?.toPngBlob(2).then((blob) => saveFile(blob, `${name}.png`))}
        >
          PNG
        </Button>
      </div>
      <div
        id={`${id}-view`}
        role="tabpanel"
        aria-label={VIEWS.find((v) => v.id === view)!.label}
        className={styles.canvas}
        data-testid="plan-canvas"
      >
        <PlanCanvas
          model={model}
          view={view}
          heat={heat}
          selection={selection}
          theme={theme}
          onSelect={select}
          handleRef={handle}
          describedBy={`${id}-links`}
        />
      </div>
      <div className={styles.legend}>
        <HeatLegend heat={heat} theme={theme} />
      </div>
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

/** The same as rows, the fullest first; those of the selection when there is one. */
function LinksTable({
  id,
  model,
  load,
  selection,
  select,
  name,
}: {
  id: string;
  model: PlanModel;
  load: LinkLoad;
  selection: Selection;
  select: (selection: Selection) => void;
  name: string;
}) {
  const [sort, setSort] = useState<SortBy | null>({ column: "most", descending: true });
  const columns = useMemo(() => linkColumns(model, load), [model, load]);
  // A selected link stands among all of them; what holds several links shows its own.
  const within = selection !== null && selection.kind !== "cable" ? selection : null;
  const rows = useMemo(
    () => [
      ...(highlightOf(model, within)?.cables ?? Array.from({ length: model.cables.count }, (_, i) => i)),
    ],
    [model, within],
  );
  return (
    <div id={id}>
      <div className={styles.bar}>
        <span className={styles.muted}>{`${formatShare(rows.length, model.cables.count)} links`}</span>
        {selection && (
          <Button small icon="close" onClick={() => select(null)}>
            {`Clear ${plural(selection.ids.length, selection.kind)}`}
          </Button>
        )}
        <span className={styles.space} />
        <Button
          small
          onClick={() =>
            saveFile(
              new Blob(
                [
                  csvOf(
                    columns.map((column) => column.title),
                    rows.map((row) => columns.map((column) => column.text(row))),
                  ),
                ],
                { type: "text/csv" },
              ),
              `${name}.csv`,
            )
          }
        >
          CSV
        </Button>
      </div>
      <div className={styles.table}>
        <DataTable
          label="Links and what they carry"
          columns={columns}
          rows={rows}
          sort={sort}
          onSort={setSort}
          isSelected={(row) => selection?.kind === "cable" && selection.ids.includes(row)}
          onActivate={(row) => select({ kind: "cable", ids: [row] })}
          empty="No link."
        />
      </div>
    </div>
  );
}
