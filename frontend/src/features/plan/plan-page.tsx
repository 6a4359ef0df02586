import { Link, useRouterState } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import type { PlanCanvasHandle } from "@/render/plan-canvas";
import { createModel } from "@/scene/model";
import { Skeleton } from "@/ui/marks";
import { useScreen } from "../shared/curl";
import { useLastPlan } from "../shared/last-plan";
import { ProblemView } from "../shared/problem";
import { Shell } from "../shared/shell";
import type { PlanSpec } from "../shared/spec";
import { CanvasPanel, type Drawn } from "./canvas-panel";
import { ExportMenu, useExport, useExportFormats } from "./export-menu";
import { Inspector } from "./inspector";
import { Lines } from "./lines";
import { ParametersPanel } from "./parameters-panel";
import { PlanActions } from "./plan-actions";
import { usePlanCommands } from "./plan-commands";
import { useBase, useReadyMs, useRequests } from "./plan-hooks";
import { PlanMenu } from "./plan-menu";
import styles from "./plan-page.module.css";
import { PlanStatus } from "./plan-status";
import { usePreview } from "./preview";
import { PrintDrawings, PrintHead, PrintSheet } from "./print-sheet";
import { RefusedBanner } from "./refused-banner";
import { RevisionMenu } from "./revision-menu";
import side from "./side.module.css";
import { Splitter } from "./splitter";
import { StartStrip } from "./start-strip";
import { isDirty, pinOf, UNTITLED, usePlan } from "./store";
import { TablesPanel } from "./tables-panel";
import { MoneySection, TotalsSection } from "./totals-section";
import { useOpenPlan } from "./use-open-plan";
import { usePlanActions } from "./use-plan-actions";
import { useSelection, useSelectionInUrl } from "./use-plan-view";
import { useSave } from "./use-save";

export default function PlanPage() {
  const opened = useOpenPlan();
  const spec = usePlan((state) => state.history.present);
  const past = usePlan((state) => state.history.past);
  const saved = usePlan((state) => state.saved);
  const draftName = usePlan((state) => state.draftName);
  const dirty = usePlan(isDirty);
  const pin = usePlan(pinOf);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const href = useRouterState({ select: (state) => state.location.href });

  const { computed, pending, error, findings, retry } = usePreview(spec, pin, opened.ready);
  const resolved = computed?.summary.spec as PlanSpec | undefined;
  const model = useMemo(
    () =>
      computed
        ? createModel(computed.scene, computed.cables, (computed.summary.spec as PlanSpec).topology)
        : null,
    [computed],
  );
  useSelectionInUrl();
  const { selection, highlight, select } = useSelection(model);
  const hash = computed?.summary.plan_hash.slice(0, 12);
  const { canvas, share, compare, predict, emulate, fit, picture } = usePlanActions(hash);
  const elevations = useRef<PlanCanvasHandle | null>(null);
  const handles = useMemo(() => [canvas, elevations], [canvas]);
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const readyMs = useReadyMs(computed);
  const { saving, save, rename, revert, remove } = useSave(computed?.summary, opened.adopt);
  const name = saved?.name ?? (draftName === UNTITLED ? (computed?.summary.title ?? UNTITLED) : draftName);
  const exporter = useExport(spec, name, saved && !dirty ? { id: saved.id, revision: saved.revision } : null);
  const formats = useExportFormats();
  usePlanCommands(model, select, {
    save,
    share,
    compare,
    predict,
    emulate,
    fit,
    picture,
    exportAs: exporter.start,
    formats: formats.data?.items,
  });
  useScreen(useRequests(spec, saved?.id, saved?.revision));
  useEffect(() => {
    useLastPlan.setState({ href });
  }, [href]);
  useEffect(() => {
    document.title = `${name} · Cubeyard`;
  }, [name]);

  const { against, base, choices, setAgainst } = useBase(computed, past, saved?.summary, dirty);

  return (
    <Shell
      title={
        <>
          <PlanMenu name={name} dirty={dirty} saved={saved !== null} onRename={rename} onDelete={remove} />
          {saved && <RevisionMenu id={saved.id} revision={saved.revision} onRevert={revert} />}
        </>
      }
      actions={
        <PlanActions
          save={() => void save()}
          saving={saving}
          canSave={computed !== undefined && (saved === null || dirty)}
          predict={predict}
          emulate={emulate}
          share={share}
        >
          <ExportMenu spec={spec} name={name} exporter={exporter} />
        </PlanActions>
      }
      status={
        <PlanStatus
          summary={computed?.summary}
          planning={pending && !error}
          readyMs={readyMs}
          zoomPercent={drawn?.zoomPercent}
        />
      }
    >
      {computed && <PrintHead computed={computed} name={name} />}
      <div className={styles.page}>
        <h1 className="visually-hidden no-print">{name}</h1>
        <div className={styles.left} data-plan-fields inert={opened.error !== null}>
          <ParametersPanel
            spec={spec}
            resolved={resolved}
            findings={findings}
            summary={error ? undefined : computed?.summary}
          />
        </div>
        <div className={styles.centre}>
          {/^\/(plans\/new)?$/.test(path) && <StartStrip spec={spec} />}
          {error !== null && computed && <RefusedBanner error={error} findings={findings} onRetry={retry} />}
          <div className={styles.work}>
            {computed && model ? (
              <Splitter
                label="Height of the tables"
                top={
                  <CanvasPanel
                    model={model}
                    selection={selection}
                    select={select}
                    stale={pending || error !== null}
                    handle={canvas}
                    elevationsHandle={elevations}
                    onDrawn={setDrawn}
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
            ) : opened.error || error ? (
              <ProblemView
                title={opened.error ? "This plan cannot be opened" : undefined}
                error={opened.error ?? error}
                onRetry={opened.error ? opened.retry : retry}
              >
                {opened.error !== null && <Link to="/">Begin with the example plan</Link>}
              </ProblemView>
            ) : (
              <div className={styles.loading}>
                <Skeleton height="34%" />
                <Skeleton height="38%" />
                <Skeleton height="22%" />
                <span className="visually-hidden" role="status">
                  Planning…
                </span>
              </div>
            )}
          </div>
        </div>
        <aside className={styles.right} aria-label="Totals and selection">
          <div className={side.panel}>
            {computed && model ? (
              <>
                <TotalsSection
                  summary={computed.summary}
                  base={base}
                  against={against}
                  choices={choices}
                  onAgainst={setAgainst}
                />
                <Inspector
                  model={model}
                  bom={computed.bom}
                  selection={selection}
                  highlight={highlight}
                  select={select}
                />
                <MoneySection summary={computed.summary} bom={computed.bom} />
              </>
            ) : (
              !error && !opened.error && <Lines count={12} />
            )}
          </div>
        </aside>
      </div>
      <PrintDrawings handles={handles} />
      {computed && <PrintSheet computed={computed} />}
    </Shell>
  );
}
