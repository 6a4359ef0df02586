import { type RefObject, useId, useMemo, useState } from "react";
import { Elevations } from "@/render/elevations";
import { PlanCanvas, type PlanCanvasHandle } from "@/render/plan-canvas";
import { PlanLegend } from "@/render/plan-legend";
import type { PlanModel } from "@/scene/model";
import { type Selection, toggleSelection } from "@/scene/selection";
import { COLOUR_BY_TITLES, type ColourBy, type Face } from "@/scene/view";
import { IconButton } from "@/ui/button";
import { Select } from "@/ui/form";
import { Segmented, Tabs } from "@/ui/tabs";
import { useTheme } from "../shared/theme";
import { LINKS, type Links, VIEWS, type View } from "../shared/url-state";
import styles from "./canvas-panel.module.css";
import { usePlanSearch } from "./use-plan-view";

const VIEW_LABELS: Record<View, string> = {
  floor: "Floor",
  logical: "Logical",
  matrix: "Matrix",
  "3d": "3D",
};
const LINK_LABELS: Record<Links, string> = { trunk: "Trunks", sel: "Selected", all: "All" };

export interface Drawn {
  zoomPercent: number;
  drawn: number;
  total: number;
  what: string;
}

/** The pictures of the plan with their tools: which view, what the colours mean, how many links. */
export function CanvasPanel({
  model,
  selection,
  select,
  stale,
  handle,
  elevationsHandle,
  onDrawn,
}: {
  model: PlanModel;
  selection: Selection;
  select: (selection: Selection) => void;
  /** The picture is older than the parameters. */
  stale: boolean;
  handle: RefObject<PlanCanvasHandle | null>;
  elevationsHandle: RefObject<PlanCanvasHandle | null>;
  onDrawn: (drawn: Drawn) => void;
}) {
  const [search, setSearch] = usePlanSearch();
  const theme = useTheme((state) => state.name);
  const [face, setFace] = useState<Face>("front");
  const id = useId();
  const view = search.view ?? "floor";
  const colourBy = (search.color && search.color in COLOUR_BY_TITLES ? search.color : "power") as ColourBy;
  const links = search.links ?? "trunk";
  const colourOptions = useMemo(
    () => Object.entries(COLOUR_BY_TITLES).map(([value, label]) => ({ value, label })),
    [],
  );
  return (
    <section className={styles.panel} aria-label="Drawing">
      <div className={styles.bar}>
        <Tabs
          label="Views"
          panelId={`${id}-view`}
          value={view}
          onChange={(next) => setSearch({ view: next === "floor" ? undefined : next })}
          items={VIEWS.map((v) => ({ id: v, label: VIEW_LABELS[v] }))}
        />
        <span className={styles.space} />
        {view !== "matrix" && (
          <span className={styles.option}>
            Colour by
            <Select
              aria-label="Colour by"
              width={112}
              value={colourBy}
              options={colourOptions}
              onChange={(next) => setSearch({ color: next === "power" ? undefined : next })}
            />
          </span>
        )}
        {view !== "matrix" && (
          <span className={styles.option}>
            Links
            <Segmented
              label="Links"
              value={links}
              onChange={(next) => setSearch({ links: next === "trunk" ? undefined : next })}
              items={LINKS.map((l) => ({ id: l, label: LINK_LABELS[l] }))}
            />
          </span>
        )}
        <span className={styles.tools}>
          <IconButton small icon="plus" label="Zoom in" onClick={() => handle.current?.zoomIn()} />
          <IconButton small icon="minus" label="Zoom out" onClick={() => handle.current?.zoomOut()} />
          <IconButton small icon="fit" label="Fit to the window" onClick={() => handle.current?.fit()} />
        </span>
      </div>
      <div
        id={`${id}-view`}
        role="tabpanel"
        aria-label={VIEW_LABELS[view]}
        className={styles.views}
        data-stale={stale}
      >
        <div className={styles.canvas} data-testid="plan-canvas">
          <PlanCanvas
            model={model}
            view={view}
            selection={selection}
            colourBy={colourBy}
            linksMode={links}
            theme={theme}
            onSelect={select}
            onView={onDrawn}
            handleRef={handle}
          />
        </div>
        <div className={styles.legend}>
          <PlanLegend
            model={model}
            view={view}
            colourBy={colourBy}
            theme={theme}
            onLevel={(level) => select(toggleSelection(selection, "level", level))}
            selectedLevels={selection?.kind === "level" ? selection.ids : undefined}
          />
        </div>
        {view === "floor" && (
          <div className={styles.elevations}>
            <div className={styles.elevationsHead}>
              <h2>Elevations</h2>
              <Segmented
                label="Face"
                value={face}
                onChange={setFace}
                items={[
                  { id: "front", label: "Front" },
                  { id: "rear", label: "Rear" },
                ]}
              />
            </div>
            <div className={styles.elevationsCanvas}>
              <Elevations
                handleRef={elevationsHandle}
                model={model}
                selection={selection}
                face={face}
                theme={theme}
                onSelect={select}
              />
            </div>
          </div>
        )}
      </div>
    </section>
  );
}
