import { type RefObject, useId, useState } from "react";
import { Elevations } from "@/render/elevations";
import { PlanCanvas, type PlanCanvasHandle } from "@/render/plan-canvas";
import { PlanLegend } from "@/render/plan-legend";
import type { PlanModel } from "@/scene/model";
import { type Selection, toggleSelection } from "@/scene/selection";
import { COLOUR_BY_TITLES, type ColourBy, type Face } from "@/scene/view";
import { placeName } from "@/shared/plans/names";
import { LINKS, type Links, VIEWS, type View } from "@/shared/plans/url-state";
import { IconButton } from "@/ui/button";
import { Select } from "@/ui/form";
import { Segmented, Tabs } from "@/ui/tabs";
import { useTheme } from "@/ui/theme";
import { useFloorPins } from "../notes/use-floor-pins";
import { usePlanSearch } from "../state/use-plan-view";
import styles from "./canvas-panel.module.css";

const VIEW_LABELS: Record<View, string> = {
  floor: "Floor",
  logical: "Logical",
  matrix: "Matrix",
  "3d": "3D",
};
const LINK_LABELS: Record<Links, string> = { trunk: "Trunks", sel: "Selected", all: "All" };

const COLOUR_OPTIONS = Object.entries(COLOUR_BY_TITLES).map(([value, label]) => ({ value, label }));

export interface Drawn {
  zoomPercent: number;
  drawn: number;
  total: number;
  what: string;
}

/**
 * The pictures of the plan with their tools: the view, the meaning of colours, the number of links.
 */
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
  const pins = useFloorPins(model);
  return (
    <section className={styles.panel} aria-label="Drawing">
      <CanvasBar
        panelId={`${id}-view`}
        view={view}
        colourBy={colourBy}
        links={links}
        onSearch={setSearch}
        handle={handle}
      />
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
            pins={pins}
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
          <ElevationsPanel
            model={model}
            selection={selection}
            select={select}
            face={face}
            onFace={setFace}
            handle={elevationsHandle}
          />
        )}
      </div>
    </section>
  );
}

/** The view, the meaning of its colours, the number of links, and the zoom. */
function CanvasBar({
  panelId,
  view,
  colourBy,
  links,
  onSearch,
  handle,
}: {
  panelId: string;
  view: View;
  colourBy: ColourBy;
  links: Links;
  onSearch: ReturnType<typeof usePlanSearch>[1];
  handle: RefObject<PlanCanvasHandle | null>;
}) {
  return (
    <div className={styles.bar}>
      <Tabs
        label="Views"
        panelId={panelId}
        value={view}
        onChange={(next) => onSearch({ view: next === "floor" ? undefined : next })}
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
            options={COLOUR_OPTIONS}
            onChange={(next) => onSearch({ color: next === "power" ? undefined : next })}
          />
        </span>
      )}
      {view !== "matrix" && (
        <span className={styles.option}>
          Links
          <Segmented
            label="Links"
            value={links}
            onChange={(next) => onSearch({ links: next === "trunk" ? undefined : next })}
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
  );
}

/** "R00-12A to R05-03": the locations of a cable's ends. */
const cableEnds = (model: PlanModel, cable: number): string =>
  [model.cables.aDevice[cable]!, model.cables.bDevice[cable]!]
    .map((device) => placeName(model, device))
    .join(" to ");

/**
 * The racks from the front or the rear, below the floor; for a cable, the two racks at its ends.
 */
function ElevationsPanel({
  model,
  selection,
  select,
  face,
  onFace,
  handle,
}: {
  model: PlanModel;
  selection: Selection;
  select: (selection: Selection) => void;
  face: Face;
  onFace: (face: Face) => void;
  handle: RefObject<PlanCanvasHandle | null>;
}) {
  const theme = useTheme((state) => state.name);
  return (
    <div className={styles.elevations}>
      <div className={styles.elevationsHead}>
        <h2>Elevations</h2>
        {selection?.kind === "cable" && selection.ids.length === 1 && (
          <span className={styles.ends}>{cableEnds(model, selection.ids[0]!)}</span>
        )}
        <Segmented
          label="Face"
          value={face}
          onChange={onFace}
          items={[
            { id: "front", label: "Front" },
            { id: "rear", label: "Rear" },
          ]}
        />
      </div>
      <div className={styles.elevationsCanvas}>
        <Elevations
          handleRef={handle}
          model={model}
          selection={selection}
          face={face}
          theme={theme}
          onSelect={select}
        />
      </div>
    </div>
  );
}
