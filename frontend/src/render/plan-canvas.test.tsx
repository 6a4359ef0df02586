// @vitest-environment jsdom

import { act, createRef } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createModel, type HitItem, type Selection } from "@/scene";
import { sampleBcube } from "@/scene/testing/sample-plan";
import { PlanCanvas, type PlanCanvasHandle, type PlanCanvasProps } from "./plan-canvas";

const { scene, cables, topology } = sampleBcube(4, 4);
const model = createModel(scene, cables, topology);

let host: HTMLDivElement;
let root: Root;

beforeEach(() => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
  // jsdom has neither layout nor a canvas: the picture gets a fixed size, and nothing is painted.
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(800);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(400);
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(null);
  host = document.createElement("div");
  document.body.append(host);
  root = createRoot(host);
});

afterEach(() => {
  act(() => root.unmount());
  host.remove();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

function show(props: Partial<PlanCanvasProps> = {}): HTMLElement {
  act(() => root.render(<PlanCanvas model={model} view="floor" theme="light" {...props} />));
  return host.querySelector<HTMLElement>('[role="application"]')!;
}

function press(element: HTMLElement, key: string, extra: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...extra });
  act(() => {
    element.dispatchEvent(event);
  });
  return event;
}

describe("PlanCanvas", () => {
  it("describes its contents and its use", () => {
    const picture = show({ describedBy: "cables-table" });
    expect(picture.getAttribute("aria-label")).toBe(
      "Floor plan of 40-ft container: 16 racks, 512 devices, 1,024 cables, coloured by power.",
    );
    const help = picture.getAttribute("aria-describedby")!.split(" ");
    expect(help).toContain("cables-table");
    expect(document.getElementById(help[0]!)?.textContent).toContain("Enter selects");
    expect(picture.tabIndex).toBe(0);
    expect(picture.textContent).toMatch(/of 1,024 cables in trunks/);
  });

  it("steps through racks and selects them without a pointer", () => {
    const chosen: Selection[] = [];
    const hovered: (HitItem | null)[] = [];
    const picture = show({ onSelect: (s) => chosen.push(s), onHover: (item) => hovered.push(item) });
    press(picture, ".");
    press(picture, ".");
    expect(hovered).toEqual([
      { kind: "rack", id: 0 },
      { kind: "rack", id: 1 },
    ]);
    expect(host.querySelector("output")?.textContent).toContain("R01");
    expect(press(picture, "Enter").defaultPrevented).toBe(true);
    press(picture, ",");
    press(picture, "Enter", { shiftKey: true });
    expect(chosen).toEqual([
      { kind: "rack", ids: [1] },
      { kind: "rack", ids: [0] },
    ]);
  });

  it("adds to the selection with Shift and clears it with Escape", () => {
    const chosen: Selection[] = [];
    const picture = show({ selection: { kind: "rack", ids: [5] }, onSelect: (s) => chosen.push(s) });
    press(picture, ".");
    press(picture, "Enter", { shiftKey: true });
    press(picture, "Escape");
    expect(chosen).toEqual([{ kind: "rack", ids: [5, 6] }, null]);
    expect(picture.textContent).toContain("of 1,024 cables of R05");
  });

  it("zooms by keys and by handle, and leaves other keys alone", () => {
    const handle = createRef<PlanCanvasHandle>();
    const picture = show({ handleRef: handle });
    press(picture, "+");
    expect(picture.textContent).toContain("140\u00a0%");
    act(() => handle.current!.zoomOut());
    expect(picture.textContent).toContain("100\u00a0%");
    act(() => handle.current!.zoomIn());
    press(picture, "0");
    expect(picture.textContent).toContain("100\u00a0%");
    expect(press(picture, "a").defaultPrevented).toBe(false);
    expect(press(picture, "+", { ctrlKey: true }).defaultPrevented).toBe(false);
    expect(press(picture, "ArrowLeft").defaultPrevented).toBe(true);
  });

  it("gives the whole picture as SVG with the selection and its provenance", () => {
    const handle = createRef<PlanCanvasHandle>();
    show({ handleRef: handle, selection: { kind: "rack", ids: [2] } });
    const svg = handle.current!.toSvg("plan 1234 \u00b7 engine 0.1.0");
    expect(svg).toContain("<title>Floor plan</title>");
    expect(svg).toContain("plan 1234");
  });
});
