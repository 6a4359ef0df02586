/** What links carry, drawn over the plan, then their distribution and a table. */
import { useCallback, useId, useMemo, useRef } from "react";
import { HeatLegend } from "@/render/heat-legend";
import { PlanCanvas, type PlanCanvasHandle } from "@/render/plan-canvas";
import type { LinkHeat } from "@/scene/heat";
import type { Selection } from "@/scene/selection";
import { Button, IconButton } from "@/ui/button";
import { saveFile } from "@/ui/clipboard";
import { Skeleton } from "@/ui/marks";
import { Tabs } from "@/ui/tabs";
import { formatCount } from "@/units";
import { nameSelection, resolveSelection } from "../shared/names";
import { ProblemView } from "../shared/problem";
import { fullerDirection, type LinkLoad, type Point, type specOfTopology } from "../shared/run-points";
import { useTheme } from "../shared/theme";
import { readSelection, writeSelection } from "../shared/url-state";
import { usePicture } from "../shared/use-picture";
import { LinksTable } from "./links-table";
import { LoadChart } from "./load-chart";
import { pointText } from "./numbers-panel";
import styles from "./runs.module.css";

const VIEWS = [
  { id: "floor", label: "Floor" },
  { id: "logical", label: "Logical" },
] as const;

export interface LinkPicturesProps {
  point: Point;
  view: "floor" | "logical";
  onView: (view: "floor" | "logical") => void;
  sel: string | undefined;
  onSel: (sel: string | undefined) => void;
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
  const theme = useTheme((state) => state.name);
  const id = useId();
  const handle = useRef<PlanCanvasHandle | null>(null);
  const heat = useMemo<LinkHeat>(
    () => ({
      title: "Flows per link, busier direction",
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
