import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useRouterState } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api, take } from "@/api/client";
import type { PlanCanvasHandle } from "@/render/plan-canvas";
import { createModel } from "@/scene/model";
import { Button, IconButton } from "@/ui/button";
import { copyText, saveFile } from "@/ui/clipboard";
import { Icon } from "@/ui/icon";
import { Skeleton } from "@/ui/marks";
import { toast } from "@/ui/toast";
import { formatCount } from "@/units";
import { useScreen } from "../shared/curl";
import { useLastPlan } from "../shared/last-plan";
import { ProblemView } from "../shared/problem";
import { encodeSpec } from "../shared/share";
import { Shell } from "../shared/shell";
import type { PlanSpec } from "../shared/spec";
import { CablingSection } from "./cabling-section";
import { CanvasPanel, type Drawn } from "./canvas-panel";
import { ExportMenu, useExport, useExportFormats } from "./export-menu";
import { FindingsSection } from "./findings-section";
import { Inspector } from "./inspector";
import { PackagingSection } from "./packaging-section";
import params from "./params.module.css";
import { usePlanCommands } from "./plan-commands";
import { useBase, useFamilies, useReadyMs, useRequests } from "./plan-hooks";
import { PlanMenu } from "./plan-menu";
import styles from "./plan-page.module.css";
import { usePreview } from "./preview";
import { PrintDrawings, PrintHead, PrintSheet } from "./print-sheet";
import { RevisionMenu } from "./revision-menu";
import side from "./side.module.css";
import { SiteSection } from "./site-section";
import { Splitter } from "./splitter";
import { StartStrip } from "./start-strip";
import { isDirty, pinOf, UNTITLED, usePlan } from "./store";
import { TablesPanel } from "./tables-panel";
import { TopologySection } from "./topology-section";
import { MoneySection, TotalsSection } from "./totals-section";
import { useOpenPlan } from "./use-open-plan";
import { useSelection, useSelectionInUrl } from "./use-plan-view";
import { useSave } from "./use-save";

export default function PlanPage() {
  const opened = useOpenPlan();
  const spec = usePlan((state) => state.history.present);
  const past = usePlan((state) => state.history.past);
  const canRedo = usePlan((state) => state.history.future.length > 0);
  const saved = usePlan((state) => state.saved);
  const draftName = usePlan((state) => state.draftName);
  const dirty = usePlan(isDirty);
  const pin = usePlan(pinOf);
  const { undo, redo } = usePlan.getState();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const href = useRouterState({ select: (state) => state.location.href });
  const navigate = useNavigate();

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
  const canvas = useRef<PlanCanvasHandle | null>(null);
  const elevations = useRef<PlanCanvasHandle | null>(null);
  const handles = useMemo(() => [canvas, elevations], []);
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const readyMs = useReadyMs(computed);
  const families = useFamilies();
  const books = useQuery({
    queryKey: ["books"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/catalog/books", { signal })),
  });
  const racks = useQuery({
    queryKey: ["parts", "rack", spec.catalog ?? null],
    queryFn: ({ signal }) =>
      take(
        api.GET("/api/v1/catalog/parts", {
          params: {
            query: { kind: "rack", ...(typeof spec.catalog === "string" && { book: spec.catalog }) },
          },
          signal,
        }),
      ),
  });

  const { saving, save, rename, revert, remove } = useSave(computed?.summary, opened.adopt);
  const name = saved?.name ?? (draftName === UNTITLED ? (computed?.summary.title ?? UNTITLED) : draftName);
  const exporter = useExport(spec, name, saved && !dirty ? { id: saved.id, revision: saved.revision } : null);
  const formats = useExportFormats();
  const share = useCallback(async () => {
    const url = new URL(location.href);
    const { saved: isSaved, history } = usePlan.getState();
    if (!isSaved || isDirty(usePlan.getState())) {
      // A link that needs no database: the spec itself.
      url.pathname = "/plans/new";
      url.searchParams.delete("revision");
      url.searchParams.delete("topology");
      url.searchParams.set("spec", await encodeSpec(history.present));
    }
    toast(
      (await copyText(url.href))
        ? "Link copied: it opens this plan in this view"
        : "The browser refused the clipboard",
    );
  }, []);
  const compare = useCallback(async () => {
    const state = usePlan.getState();
    const self =
      state.saved && !isDirty(state) ? state.saved.id : `z.${await encodeSpec(state.history.present)}`;
    const others = ["ex.dcell", "ex.fat-tree", "ex.tree"].filter(
      (ref) => !ref.includes(String(state.history.present.topology.family).replace("_", "-")),
    );
    await navigate({ to: "/compare", search: { plans: [self, ...others].join(",") } });
  }, [navigate]);
  const ask = useCallback(
    async (engine?: "emulation") => {
      const state = usePlan.getState();
      const plan =
        state.saved && !isDirty(state) ? state.saved.id : `z.${await encodeSpec(state.history.present)}`;
      await navigate({ to: "/experiments", search: { plan, engine } });
    },
    [navigate],
  );
  const predict = useCallback(() => ask(), [ask]);
  const emulate = useCallback(() => ask("emulation"), [ask]);
  const fit = useCallback(() => canvas.current?.fit(), []);
  const hash = computed?.summary.plan_hash.slice(0, 12);
  const picture = useCallback(
    async (kind: "svg" | "png") => {
      const drawing = canvas.current;
      if (!drawing) return;
      const blob =
        kind === "png"
          ? await drawing.toPngBlob(2)
          : new Blob([drawing.toSvg(`plan ${hash}, modelled`)], { type: "image/svg+xml" });
      saveFile(blob, `plan-${hash}.${kind}`);
    },
    [hash],
  );
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

  const parameters = { spec, resolved, findings };
  return (
    <Shell
      title={
        <>
          <PlanMenu name={name} dirty={dirty} saved={saved !== null} onRename={rename} onDelete={remove} />
          {saved && <RevisionMenu id={saved.id} revision={saved.revision} onRevert={revert} />}
        </>
      }
      actions={
        <>
          <IconButton icon="undo" label="Undo" disabled={past.length === 0} onClick={undo} />
          <IconButton icon="redo" label="Redo" disabled={!canRedo} onClick={redo} />
          <Button icon="play" onClick={() => void predict()} title="Predict what this plan carries">
            <span className={styles.word}>Predict</span>
          </Button>
          <IconButton
            icon="pulse"
            label="Run it with real packets"
            look="plain"
            onClick={() => void emulate()}
          />
          <Button icon="share" onClick={() => void share()}>
            <span className={styles.word}>Share</span>
          </Button>
          <ExportMenu spec={spec} name={name} exporter={exporter} />
          <Button
            look="primary"
            onClick={() => void save()}
            disabled={saving || !computed || (saved !== null && !dirty)}
          >
            {saving ? "Saving…" : saved && !dirty ? "Saved" : "Save"}
          </Button>
        </>
      }
      status={
        <>
          <span data-testid="ready" data-ready-ms={readyMs ?? undefined}>
            {pending && !error
              ? "Planning…"
              : readyMs === null
                ? ""
                : `Plan ready in ${formatCount(readyMs)} ms`}
          </span>
          <span>
            {saved
              ? dirty
                ? `Edited since revision ${saved.revision}`
                : `Saved, revision ${saved.revision}`
              : "Not saved"}
          </span>
          {drawn && <span>Zoom {formatCount(drawn.zoomPercent)} %</span>}
          {computed && <span className={styles.hash}>Plan {computed.summary.plan_hash.slice(0, 10)}</span>}
          {computed && <span className={styles.hash}>Engine {computed.summary.engine_version}</span>}
        </>
      }
    >
      {computed && <PrintHead computed={computed} name={name} />}
      <div className={styles.page}>
        <h1 className="visually-hidden no-print">{name}</h1>
        <div className={styles.left} data-plan-fields inert={opened.error !== null}>
          <div className={params.panel}>
            {families.data ? (
              <TopologySection families={families.data} spec={spec} findings={findings} resolved={resolved} />
            ) : families.isError ? (
              <ProblemView error={families.error} onRetry={() => void families.refetch()} />
            ) : (
              <Lines count={8} />
            )}
            <FindingsSection findings={findings} summary={error ? undefined : computed?.summary} />
            <SiteSection {...parameters} racks={racks.data?.items ?? []} />
            <PackagingSection {...parameters} />
            <CablingSection {...parameters} books={books.data?.items ?? []} pin={pin} />
          </div>
        </div>
        <div className={styles.centre}>
          {/^\/(plans\/new)?$/.test(path) && <StartStrip spec={spec} />}
          {error !== null && computed && (
            <div className={styles.banner} role="status">
              <Icon name="warning" />
              <span>
                {findings.length > 0
                  ? "These parameters give no plan. The drawing is of the last ones that did."
                  : error instanceof Error
                    ? error.message
                    : String(error)}
              </span>
              {findings.length > 0 && past.length > 0 ? (
                <Button small onClick={undo}>
                  Undo
                </Button>
              ) : (
                <Button small onClick={retry}>
                  Try again
                </Button>
              )}
            </div>
          )}
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

function Lines({ count }: { count: number }) {
  return (
    <div className={styles.lines}>
      {Array.from({ length: count }, (_, at) => (
        <Skeleton key={at} height={16} width={at % 3 === 2 ? "60%" : "100%"} />
      ))}
    </div>
  );
}
