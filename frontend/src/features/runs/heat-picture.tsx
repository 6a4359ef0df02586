/**
 * A quantity of every link over the plan: the views, the picture with the selection, its files and
 * its legend.
 */
import { useCallback, useId, useMemo, useRef } from "react";
import { HeatLegend } from "@/render/heat-legend";
import { PlanCanvas, type PlanCanvasHandle } from "@/render/plan-canvas";
import type { LinkHeat } from "@/scene/heat";
import type { PlanModel } from "@/scene/model";
import type { Selection } from "@/scene/selection";
import { nameSelection, resolveSelection } from "@/shared/plans/names";
import { readSelection, writeSelection } from "@/shared/plans/url-state";
import { Button, IconButton } from "@/ui/button";
import { Tabs } from "@/ui/tabs";
import { useTheme } from "@/ui/theme";
import { saveFile } from "@/units/save-file";
import styles from "./runs.module.css";

const VIEWS = [
  { id: "floor", label: "Floor" },
  { id: "logical", label: "Logical" },
] as const;

/** The part of a picture's state that is in the address. */
export interface PictureView {
  view: "floor" | "logical";
  onView: (view: "floor" | "logical") => void;
  sel: string | undefined;
  onSel: (sel: string | undefined) => void;
}

/** The selection that the address names. */
export function useSelected(model: PlanModel | null, sel: string | undefined, onSel: PictureView["onSel"]) {
  const selection = useMemo(() => (model ? resolveSelection(model, readSelection(sel)) : null), [model, sel]);
  const select = useCallback(
    (next: Selection) => onSel(model ? writeSelection(nameSelection(model, next)) : undefined),
    [model, onSel],
  );
  return { selection, select };
}

export function HeatPicture({
  model,
  heat,
  view,
  onView,
  selection,
  select,
  name,
  provenance,
  describedBy,
}: Pick<PictureView, "view" | "onView"> & {
  model: PlanModel;
  heat: LinkHeat;
  selection: Selection;
  select: (selection: Selection) => void;
  /** The name of its files, without the extension. */
  name: string;
  provenance: string;
  describedBy: string;
}) {
  const theme = useTheme((state) => state.name);
  const id = useId();
  const handle = useRef<PlanCanvasHandle | null>(null);
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
            handle.current && saveFile(handle.current.toSvg(provenance), `${name}.svg`, "image/svg+xml")
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
          describedBy={describedBy}
        />
      </div>
      <div className={styles.legend}>
        <HeatLegend heat={heat} theme={theme} />
      </div>
    </>
  );
}
