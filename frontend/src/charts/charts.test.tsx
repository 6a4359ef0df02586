// @vitest-environment jsdom

import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { formatUsd } from "@/units";
import { barColumns } from "./bars";
import { fileNameOf } from "./chart-frame";
import { toCsv } from "./csv";
import { LineChart } from "./line-chart";
import { mergedRows, nearestIndex } from "./series";
import { SmallMultiples, sharedDomains } from "./small-multiples";

describe("csv", () => {
  it("quotes, keeps full precision and disarms formulas", () => {
    const csv = toCsv(
      [
        { header: "plan", values: ['a "b", c', "=1+1", null] },
        { header: "usd", values: [0.1, 92340.25, Number.NaN], format: formatUsd },
      ],
      "plan 12ab, modelled",
    );
    expect(csv).toBe(
      'plan,usd\r\n"a ""b"", c",0.1\r\n\'=1+1,92340.25\r\n,\r\n\r\n"# plan 12ab, modelled"\r\n',
    );
  });
});

describe("series", () => {
  it("merges x values of all series", () => {
    const { xs, ys } = mergedRows([
      {
        points: [
          { x: 2, y: 20 },
          { x: 0, y: 1 },
        ],
      },
      { points: [{ x: 1, y: 5 }] },
    ]);
    expect(xs).toEqual([0, 1, 2]);
    expect(ys).toEqual([
      [1, null, 20],
      [null, 5, null],
    ]);
  });

  it("finds the nearest point as a full search does", () => {
    const points = [0, 1, 4, 9, 16, 25].map((x) => ({ x }));
    for (let x = -3; x < 30; x += 0.37) {
      const best = Math.min(...points.map((p) => Math.abs(p.x - x)));
      expect(Math.abs(points[nearestIndex(points, x)]!.x - x)).toBeCloseTo(best, 9);
    }
    expect(nearestIndex([], 3)).toBe(-1);
  });
});

describe("bars", () => {
  const items = [
    { id: "a", label: "BCube", value: 100, isBase: true },
    { id: "b", label: "DCell", value: 140 },
    { id: "c", label: "Tree", value: null },
  ];

  it("gives the same numbers and changes as a table", () => {
    const columns = barColumns(items, "USD", formatUsd);
    expect(columns.map((column) => column.header)).toEqual(["Plan", "USD", "Change"]);
    expect(columns[2]!.values).toEqual([null, 40, null]);
    expect(columns[2]!.format!(40)).toBe("+$40.00");
  });

  it("shares one scale among panels of one key and starts it at zero", () => {
    const panel = (id: string, values: number[], scaleKey?: string) => ({
      id,
      title: id,
      unit: "m",
      scaleKey,
      items: values.map((value, i) => ({ id: String(i), label: String(i), value })),
    });
    const domains = sharedDomains([panel("a", [3, 9], "m"), panel("b", [40, 2], "m"), panel("c", [0])]);
    expect(domains.get("m")).toEqual([0, 40]);
    expect(domains.get("c")).toEqual([0, 1]);
  });

  it("names files after titles", () => {
    expect(fileNameOf("Cost, USD (2009)")).toBe("cost-usd-2009");
    expect(fileNameOf("\u2026")).toBe("chart");
  });
});

describe("charts on the page", () => {
  let host: HTMLDivElement;
  let root: Root;
  beforeEach(() => {
    vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
    host = document.createElement("div");
    document.body.append(host);
    root = createRoot(host);
  });
  afterEach(() => {
    act(() => root.unmount());
    host.remove();
    vi.unstubAllGlobals();
  });

  it("toggle between the picture and the table of the same numbers", () => {
    act(() =>
      root.render(
        <SmallMultiples
          theme="light"
          provenance="plan 12ab"
          panels={[
            {
              id: "cost",
              title: "Cost",
              unit: "USD",
              items: [{ id: "a", label: "BCube", value: 92340 }],
              format: formatUsd,
            },
          ]}
        />,
      ),
    );
    expect(host.querySelector("svg")?.getAttribute("aria-label")).toContain("BCube $92,340");
    expect(host.textContent).toContain("plan 12ab");
    const toggle = [...host.querySelectorAll("button")].find((button) => button.textContent === "Table")!;
    act(() => toggle.click());
    expect(toggle.getAttribute("aria-pressed")).toBe("true");
    expect([...host.querySelectorAll("td")].map((cell) => cell.textContent)).toEqual(["BCube", "$92,340"]);
  });

  it("read values with the arrow keys and share the crosshair", () => {
    const at: (number | null)[] = [];
    act(() =>
      root.render(
        <LineChart
          title="Resilience"
          theme="dark"
          provenance="seed 7"
          xLabel="failed"
          yLabel="Gb/s"
          onAt={(x) => at.push(x)}
          markers={[{ x: 1, label: "fault" }]}
          series={[
            {
              id: "b",
              label: "BCube",
              points: [
                { x: 0, y: 10 },
                { x: 1, y: 8 },
                { x: 2, y: 5 },
              ],
            },
          ]}
        />,
      ),
    );
    const plot = host.querySelector("svg")!;
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "Escape"])
      act(() => {
        plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      });
    expect(at).toEqual([0, 1, 2, 2, 1, null]);
    expect(host.textContent).toContain("fault");
  });
});
