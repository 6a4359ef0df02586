import { useRouterState } from "@tanstack/react-router";
import { lazy, type RefObject, Suspense, useEffect, useMemo, useRef, useState } from "react";
import type { PlanCanvasHandle } from "@/render/plan-canvas";
import { createModel, type PlanModel } from "@/scene/model";
import { isPlanPath, useLastPlan } from "@/shared/plans/last-plan";
import type { PlanSpec } from "@/shared/plans/spec";
import { useScreen } from "@/shared/server/curl";
import { Shell } from "@/shared/shell/shell";
import { useTitle } from "@/ui/use-title";
import { usePlanCommands } from "./commands/plan-commands";
import { ConsequencesNote } from "./header/consequences-note";
import { ExportMenu } from "./header/export-menu";
import { PlanActions } from "./header/plan-actions";
import { PlanStatus } from "./header/plan-status";
import { PlanTitle } from "./header/plan-title";
import { RefusedBanner } from "./header/refused-banner";
import { StartStrip } from "./header/start-strip";
import { useExport, useExportFormats } from "./header/use-export";
import { ImportNote } from "./import/import-note";
import { PlanDrop } from "./import/plan-drop";
import { Lines } from "./layout/lines";
import { NoPlanYet, Workspace } from "./layout/workspace";
import { ParametersPanel } from "./parameters/parameters-panel";
import type { Drawn } from "./picture/canvas-panel";
import styles from "./plan-page.module.css";
import { useReadyMs, useRequests } from "./state/plan-hooks";
import { type Computed, usePreview } from "./state/preview";
import { isDirty, pinOf, UNTITLED, usePlan } from "./state/store";
import { useOpenPlan } from "./state/use-open-plan";
import { usePlanActions } from "./state/use-plan-actions";
import { useSelection, useSelectionInUrl } from "./state/use-plan-view";
import { useSave } from "./state/use-save";
import { Figures } from "./totals/figures";
import { longestCable } from "./totals/totals";

/** Content that is only printed. Loaded after the page. */
const PrintHead = lazy(() => import("./print/print-head"));
const PrintSheet = lazy(() => import("./print/print-sheet"));

export default function PlanPage() {
  const { document, plan, picture, orders } = usePlanPage();
  const { name, spec, saved, dirty } = document;
  return (
    <Shell
      title={
        <PlanTitle
          name={name}
          dirty={dirty}
          saved={saved}
          onRename={orders.rename}
          onDelete={orders.remove}
          onCrew={orders.crew}
          onAsBuilt={orders.asBuilt}
          onRevert={orders.revert}
        />
      }
      actions={
        <PlanActions
          save={() => void orders.save()}
          saving={orders.saving}
          canSave={plan.computed !== undefined && (saved === null || dirty)}
          predict={orders.predict}
          emulate={orders.emulate}
          share={orders.share}
        >
          <ExportMenu spec={spec} name={name} exporter={orders.exporter} />
        </PlanActions>
      }
      status={
        <PlanStatus
          summary={plan.computed?.summary}
          planning={plan.pending && !plan.error}
          readyMs={picture.readyMs}
          zoomPercent={picture.drawn?.zoomPercent}
          running={orders.exporter.running}
        />
      }
    >
      <Suspense>{plan.computed && <PrintHead computed={plan.computed} name={name} />}</Suspense>
      <PlanColumns document={document} plan={plan} picture={picture} />
      <PlanDrop />
      <Suspense>
        {plan.computed && <PrintSheet computed={plan.computed} handles={picture.handles} />}
      </Suspense>
    </Shell>
  );
}

type Page = ReturnType<typeof usePlanPage>;

/** Parameters, drawing with tables, totals with the selection. */
function PlanColumns({ document, plan, picture }: Pick<Page, "document" | "plan" | "picture">) {
  const { opened, spec } = document;
  const { computed, error, findings, retry } = plan;
  const { model, marked } = picture;
  const path = useRouterState({ select: (state) => state.location.pathname });
  return (
    <div className={styles.page}>
      <h1 className="visually-hidden no-print">{document.name}</h1>
      <div className={styles.left} data-plan-fields inert={opened.error !== null}>
        <ParametersPanel
          spec={spec}
          resolved={plan.resolved}
          findings={findings}
          summary={error ? undefined : computed?.summary}
          onLongest={() => model && marked.select({ kind: "cable", ids: [longestCable(model)] })}
        />
      </div>
      <div className={styles.centre}>
        {/^\/(plans\/new)?$/.test(path) && <StartStrip spec={spec} />}
        {error !== null && computed && (
          <RefusedBanner error={error} valid={computed.spec} findings={findings} onRetry={retry} />
        )}
        {error === null && computed && <ImportNote computed={computed} />}
        {error === null && computed && <ConsequencesNote computed={computed} past={document.past} />}
        <div className={styles.work}>
          {computed && model ? (
            <Workspace
              computed={computed}
              model={model}
              marked={marked}
              stale={plan.pending || error !== null}
              canvas={picture.canvas}
              elevations={picture.elevations}
              onDrawn={picture.setDrawn}
            />
          ) : (
            <NoPlanYet opened={opened} error={error} retry={retry} />
          )}
        </div>
      </div>
      <aside className={styles.right} aria-label="Totals and selection">
        <div className={styles.panel}>
          {computed && model ? (
            <Figures
              computed={computed}
              model={model}
              marked={marked}
              past={document.past}
              saved={document.saved?.summary}
              dirty={document.dirty}
            />
          ) : (
            !error && !opened.error && <Lines count={12} />
          )}
        </div>
      </aside>
    </div>
  );
}

/** The state of the open plan: edits, computed results, drawings, and actions. */
function usePlanPage() {
  const document = usePlanDocument();
  const { opened, spec, saved, dirty } = document;
  const plan = usePreview(spec, usePlan(pinOf), opened.ready);
  const { computed } = plan;
  const model = useModel(computed);
  useSelectionInUrl();
  const marked = useSelection(model);
  const actions = usePlanActions(computed?.summary.plan_hash.slice(0, 12));
  const { canvas, share, compare, predict, emulate, crew, asBuilt } = actions;
  const picture = { ...usePictures(computed, canvas), model, marked };
  const saving = useSave(computed?.summary, opened.adopt);
  const name = document.name ?? computed?.summary.title ?? UNTITLED;
  const exporter = useExport(spec, name, saved && !dirty ? { id: saved.id, revision: saved.revision } : null);
  const formats = useExportFormats();
  usePlanCommands(model, marked.select, {
    save: saving.save,
    share,
    compare,
    predict,
    emulate,
    crew,
    asBuilt,
    fit: actions.fit,
    picture: actions.picture,
    exportAs: exporter.start,
    formats: formats.data?.items,
  });
  useScreen(useRequests(spec, saved?.id, saved?.revision));
  usePageTitle(name);
  return {
    document: { ...document, name },
    plan: { ...plan, resolved: computed?.summary.spec as PlanSpec | undefined },
    picture,
    orders: { ...saving, share, predict, emulate, crew, asBuilt, exporter },
  };
}

/** The edited and the saved plan. The name is null if the plan uses the engine's title. */
function usePlanDocument() {
  const opened = useOpenPlan();
  const spec = usePlan((state) => state.history.present);
  const past = usePlan((state) => state.history.past);
  const saved = usePlan((state) => state.saved);
  const draftName = usePlan((state) => state.draftName);
  const dirty = usePlan(isDirty);
  const name = saved?.name ?? (draftName === UNTITLED ? null : draftName);
  return { opened, spec, past, saved, dirty, name };
}

/** The handles of the drawings, also for printing, and the last drawn state. */
function usePictures(computed: Computed | undefined, canvas: RefObject<PlanCanvasHandle | null>) {
  const elevations = useRef<PlanCanvasHandle | null>(null);
  const handles = useMemo(() => [canvas, elevations], [canvas]);
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  return { canvas, elevations, handles, drawn, setDrawn, readyMs: useReadyMs(computed) };
}

/** Sets the tab's title, and the plan to which other pages return. */
function usePageTitle(name: string): void {
  const href = useRouterState({ select: (state) => state.location.href });
  useEffect(() => {
    if (isPlanPath(new URL(href, location.origin).pathname)) useLastPlan.setState({ href });
  }, [href]);
  useTitle(name);
}

function useModel(computed: Computed | undefined): PlanModel | null {
  return useMemo(
    () =>
      computed
        ? createModel(computed.scene, computed.cables, (computed.summary.spec as PlanSpec).topology)
        : null,
    [computed],
  );
}
