/**
 * The middle of the page: the drawing above the tables; before a plan exists, the reason.
 */
import { Link } from "@tanstack/react-router";
import type { RefObject } from "react";
import type { PlanCanvasHandle } from "@/render/plan-canvas";
import type { PlanModel } from "@/scene/model";
import { ProblemView } from "@/shared/server/problem";
import { Skeleton } from "@/ui/marks";
import { CanvasPanel, type Drawn } from "../picture/canvas-panel";
import type { Computed } from "../state/preview";
import type { useOpenPlan } from "../state/use-open-plan";
import type { useSelection } from "../state/use-plan-view";
import { TablesPanel } from "../tables/tables-panel";
import { Splitter } from "./splitter";
import styles from "./workspace.module.css";

interface WorkspaceProps {
  computed: Computed;
  model: PlanModel;
  marked: ReturnType<typeof useSelection>;
  /** The drawing shows an earlier spec. */
  stale: boolean;
  canvas: RefObject<PlanCanvasHandle | null>;
  elevations: RefObject<PlanCanvasHandle | null>;
  onDrawn: (drawn: Drawn) => void;
}

export function Workspace({ computed, model, marked, stale, canvas, elevations, onDrawn }: WorkspaceProps) {
  const { selection, highlight, select } = marked;
  return (
    <Splitter
      label="Height of the tables"
      top={
        <CanvasPanel
          model={model}
          selection={selection}
          select={select}
          stale={stale}
          handle={canvas}
          elevationsHandle={elevations}
          onDrawn={onDrawn}
        />
      }
      bottom={
        <TablesPanel
          computed={computed}
          model={model}
          selection={selection}
          highlight={highlight}
          select={select}
        />
      }
    />
  );
}

export function NoPlanYet({
  opened,
  error,
  retry,
}: {
  opened: ReturnType<typeof useOpenPlan>;
  error: unknown;
  retry: () => void;
}) {
  if (opened.error !== null || error !== null)
    return (
      <ProblemView
        title={opened.error ? "This plan cannot be opened" : undefined}
        error={opened.error ?? error}
        onRetry={opened.error ? opened.retry : retry}
      >
        {opened.error !== null && <Link to="/">Open the example plan</Link>}
      </ProblemView>
    );
  return (
    <div className={styles.loading}>
      <Skeleton height="34%" />
      <Skeleton height="38%" />
      <Skeleton height="22%" />
      <span className="visually-hidden" role="status">
        Planning…
      </span>
    </div>
  );
}
