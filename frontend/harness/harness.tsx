/**
 * Pictures without the page, for looking at them and timing them; not part of the build. The plan
 * is a sample, or with ?plan=NAME the document NAME.json ({scene, cables, topology}) of the folder
 * HARNESS_PLANS. ?view=floor|elevations|logical|matrix|3d|both|charts|live &network=DCell(4, 1)
 * &theme= &sel=rack:11 &links= &color= &zoom=k,x,y &time=1
 */

import { createRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { Elevations, PlanCanvas, type PlanCanvasHandle, PlanLegend } from "../src/render";
import { paint } from "../src/render/canvas-painter";
import { paletteOf } from "../src/render/resolve";
import { fitTransform } from "../src/render/transform";
import {
  buildOverlay,
  buildView,
  type ColourBy,
  createModel,
  highlightOf,
  type LinksMode,
  type PlanModel,
  type Selection,
  type SelectionKind,
  type ViewKind,
} from "../src/scene";
import { sampleBcube } from "../src/scene/testing/sample-plan";
import { cssVariables, THEMES, type ThemeName } from "../src/units";
import { Charts } from "./charts";
import { Live } from "./live";

const query = new URLSearchParams(location.search);
const theme = (query.get("theme") ?? "light") as ThemeName;
const view = query.get("view") ?? "both";
const links = (query.get("links") ?? "trunk") as LinksMode;
const colour = (query.get("color") ?? "power") as ColourBy;

function selectionOf(text: string | null): Selection {
  if (!text) return null;
  const [kind, ids] = text.split(":") as [SelectionKind, string];
  return { kind, ids: ids.split(",").map(Number) };
}

function time(model: PlanModel): string {
  const lines: string[] = [];
  const canvas = document.createElement("canvas");
  canvas.width = 840;
  canvas.height = 580;
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  const size = { width: 840, height: 580 };
  const median = (run: () => void) => {
    const times = Array.from({ length: 9 }, () => {
      const start = performance.now();
      run();
      return performance.now() - start;
    });
    return times.sort((a, b) => a - b)[4]!.toFixed(1);
  };
  for (const kind of ["floor", "elevations", "logical", "matrix", "3d"] as const)
    for (const mode of ["trunk", "all"] as const) {
      if (mode === "all" && kind !== "floor" && kind !== "logical") continue;
      const options = { colourBy: colour, linksMode: mode, aspect: 1.4 };
      const build = median(() => buildView(model, kind, options));
      const list = buildView(model, kind, options);
      const transform = fitTransform(list.bounds, size);
      // Reading a pixel back makes the software canvas finish the drawing before the clock stops.
      const draw = (batches: typeof list.batches) => () => {
        context.clearRect(0, 0, 840, 580);
        paint(batches, { context, palette: paletteOf(theme), transform, size, ratio: 1 });
        context.getImageData(0, 0, 1, 1);
      };
      const full = median(draw(list.batches));
      const select = median(() => {
        const h = highlightOf(model, { kind: "rack", ids: [11] })!;
        draw(buildOverlay(model, kind, h, options))();
      });
      lines.push(
        `${kind} ${mode}: build ${build} ms, paint ${full} ms, select rack (find+build+paint) ${select} ms`,
      );
    }
  const start = performance.now();
  createModel(model.scene, model.cablesDocument, model.topology);
  lines.push(`model ${(performance.now() - start).toFixed(1)} ms`);
  return lines.join("\n");
}

function App({ model }: { model: PlanModel }) {
  const [selection, setSelection] = useState<Selection>(selectionOf(query.get("sel")));
  const common = { model, selection, onSelect: setSelection, theme, colourBy: colour, linksMode: links };
  const handle = createRef<PlanCanvasHandle>();
  const zoom = Number(query.get("zoom") ?? 0);
  const tokens = THEMES[theme];
  return (
    <div
      style={{
        ...cssVariables(tokens),
        height: "100%",
        background: tokens.background,
        color: tokens.ink,
        display: "grid",
        gridTemplateRows: "auto 1fr auto",
      }}
    >
      <div style={{ display: "flex", padding: 8, borderBottom: `1px solid ${tokens.border}` }}>
        <PlanLegend
          model={model}
          view={view === "both" ? "floor" : (view as ViewKind)}
          colourBy={colour}
          theme={theme}
          onLevel={(l) => setSelection({ kind: "level", ids: [l] })}
        />
      </div>
      {view === "charts" ? (
        <Charts theme={theme} />
      ) : view === "live" ? (
        <Live name={query.get("network") ?? "DCell(4, 1)"} theme={theme} />
      ) : view === "both" ? (
        <div style={{ display: "grid", gridTemplateRows: "2fr 3fr", minHeight: 0 }}>
          <PlanCanvas {...common} view="floor" />
          <Elevations {...common} />
        </div>
      ) : (
        <PlanCanvas
          {...common}
          view={view as ViewKind}
          handleRef={(h) => {
            handle.current = h;
            if (h && zoom > 0 && !document.body.dataset.zoomed) {
              document.body.dataset.zoomed = "1";
              setTimeout(() => {
                for (let i = 0; i < zoom; i++) h.zoomIn();
                h.pan(Number(query.get("dx") ?? 0), Number(query.get("dy") ?? 0));
              }, 50);
            }
          }}
        />
      )}
      {query.get("time") && <pre style={{ margin: 8 }}>{time(model)}</pre>}
    </div>
  );
}

async function load(): Promise<PlanModel> {
  const name = query.get("plan");
  if (!name) {
    const { scene, cables, topology } = sampleBcube(8, Number(query.get("groups") ?? 4));
    return createModel(scene, cables, topology);
  }
  const { scene, cables, topology } = await (await fetch(`./${name}.json`)).json();
  return createModel(scene, cables, topology);
}

load().then((model) => createRoot(document.getElementById("root")!).render(<App model={model} />));
