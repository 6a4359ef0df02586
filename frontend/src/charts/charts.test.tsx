// @vitest-environment jsdom

import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { moneyIn, THEMES } from "@/units";
import { barColumns } from "./bars";
import { fileNameOf } from "./chart-frame";
import { toCsv } from "./csv";
import { LineChart } from "./line-chart";
import { readingsAt, readoutText } from "./plot-readout";
import { MARGIN, plotScales } from "./plot-scales";
import { bandSegments, mergedRows, nearestIndex, segmentsOf, seriesLook, symbolPath } from "./series";
import { SmallMultiples, sharedDomains } from "./small-multiples";

describe("a line's look", () => {
  it("differs for thirty lines, and for thirty sets of points", () => {
    for (const tokens of Object.values(THEMES)) {
      const looks = Array.from({ length: 30 }, (_, index) => seriesLook(tokens, index));
      expect(new Set(looks.map(({ colour, dashPx }) => `${colour} ${dashPx}`)).size).toBe(30);
      expect(new Set(looks.map((look) => `${look.colour} ${symbolPath(look.symbol, 4)}`)).size).toBe(30);
    }
  });
});

describe("csv", () => {
  it("quotes, keeps full precision and disarms formulas", () => {
    const csv = toCsv(
      [
        { header: "plan", values: ['a "b", c', "=1+1", null] },
        { header: "usd", values: [0.1, 92340.25, Number.NaN], format: moneyIn("USD") },
      ],
      "plan 12ab, modelled",
    );
    expect(csv).toBe(
      'plan,usd,source\r\n"a ""b"", c",0.1,"plan 12ab, modelled"\r\n\'=1+1,92340.25,"plan 12ab, modelled"\r\n,,"plan 12ab, modelled"\r\n',
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

  it("finds the same nearest point as a full search", () => {
    const points = [0, 1, 4, 9, 16, 25].map((x) => ({ x }));
    for (let x = -3; x < 30; x += 0.37) {
      const best = Math.min(...points.map((p) => Math.abs(p.x - x)));
      expect(Math.abs(points[nearestIndex(points, x)]!.x - x)).toBeCloseTo(best, 9);
    }
    expect(nearestIndex([], 3)).toBe(-1);
  });
});

describe("scales of a plot", () => {
  const line = (ys: number[]) => ({ id: "a", label: "a", points: ys.map((y, x) => ({ x, y })) });

  it("contain zero, the data and every band", () => {
    const banded = { ...line([3, 4]), band: [{ x: 0, low: -2, high: 9 }] };
    const { x, y } = plotScales({ series: [banded] }, 400, 200);
    expect(x.domain()).toEqual([0, 1]);
    expect(y.domain()[0]).toBeLessThanOrEqual(-2);
    expect(y.domain()[1]).toBeGreaterThanOrEqual(9);
    expect(y(y.domain()[0]!)).toBe(200 - MARGIN.bottom);
  });

  it("keep a given domain as it is, and have a width for one point and for none", () => {
    expect(plotScales({ series: [line([7])], yDomain: [0, 33] }, 400, 200).y.domain()).toEqual([0, 33]);
    for (const series of [[], [line([7])]]) {
      const [x0, x1] = plotScales({ series }, 10, 200).x.domain();
      expect(x1! - x0!).toBe(1);
    }
  });
});

describe("readout", () => {
  it("takes the nearest point of a line and the current step", () => {
    const points = [
      { x: 0, y: 1 },
      { x: 10, y: 2 },
    ];
    const read = readingsAt(
      [
        { id: "line", label: "line", points },
        { id: "steps", label: "steps", points, steps: true },
        { id: "none", label: "none", points: [] },
      ],
      8,
    );
    expect(read.map(({ index, point }) => [index, point.y])).toEqual([
      [0, 2],
      [1, 1],
    ]);
  });

  it("leaves out the unit, then the name of the axis, when the text is long", () => {
    const text = `time 3 s: ${"x".repeat(50)}`;
    expect(readoutText(text, "time", 600)).toEqual({ shown: text, unitHasRoom: true });
    expect(readoutText(text, "time", 400)).toEqual({ shown: text, unitHasRoom: false });
    expect(readoutText(text, "time", 200)).toEqual({ shown: text.slice(5), unitHasRoom: false });
  });
});

describe("gaps", () => {
  const points = [0, 1, 5, 9, 10].map((x) => ({ x, y: x, ...((x === 5 || x === 9) && { gap: true }) }));

  it("split a line and its band at the same places, and lose no point", () => {
    expect(segmentsOf(points).map((segment) => segment.map(({ x }) => x))).toEqual([[0, 1], [5], [9, 10]]);
    expect(segmentsOf(points).flat()).toEqual(points);
    const band = points.map(({ x }) => ({ x, low: 0, high: 1 }));
    expect(bandSegments(band, points).map((segment) => segment.map(({ x }) => x))).toEqual([
      [0, 1],
      [5],
      [9, 10],
    ]);
    expect(segmentsOf([])).toEqual([]);
  });
});

describe("bars", () => {
  const items = [
    { id: "a", label: "BCube", value: 100, isBase: true, basis: "modelled" },
    { id: "b", label: "DCell", value: 140, basis: "modelled" },
    { id: "c", label: "Tree", value: null, basis: "assumed" },
  ] as const;

  it("gives the same numbers and changes as a table", () => {
    const columns = barColumns(items, "Plan", "USD", moneyIn("USD"));
    expect(columns.map((column) => column.header)).toEqual(["Plan", "USD", "Change", "Basis"]);
    expect(columns[2]!.values).toEqual([null, 40, null]);
    expect(columns[2]!.format!(40)).toBe("+$40.00");
  });

  it("shares a scale among panels with the same key and starts it at zero", () => {
    const panel = (id: string, values: number[], scaleKey?: string) => ({
      id,
      title: id,
      unit: "m",
      scaleKey,
      items: values.map((value, i) => ({
        id: String(i),
        label: String(i),
        value,
        basis: "measured" as const,
      })),
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

let host: HTMLDivElement;
let root: Root;

function mount(): void {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  host = document.createElement("div");
  document.body.append(host);
  root = createRoot(host);
}

function unmount(): void {
  act(() => root.unmount());
  host.remove();
  vi.unstubAllGlobals();
}

describe("axes on the page", () => {
  beforeEach(mount);
  afterEach(unmount);

  it("keep the last tick's text within the picture", () => {
    const points = [0, 100].map((x) => ({ x, y: 1 }));
    const series = [{ id: "a", label: "a", points }];
    const common = {
      title: "t",
      theme: "light" as const,
      provenance: "",
      height: 200,
      xLabel: "x",
      yLabel: "y",
    };
    act(() =>
      root.render(<LineChart {...common} series={series} xFormat={(x) => `${x} megabits a second`} />),
    );
    const texts = [...host.querySelectorAll("text")].filter(({ textContent }) =>
      textContent?.includes("megabits"),
    );
    const shifts = texts.map((text) => Number(text.getAttribute("x")));
    expect(shifts.length).toBeGreaterThan(2);
    expect(shifts[0]).toBe(0);
    expect(shifts.at(-1)).toBeLessThan(-20);
  });
});

describe("charts on the page", () => {
  beforeEach(mount);
  afterEach(unmount);

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
              items: [{ id: "a", label: "BCube", value: 92340, basis: "modelled" }],
              format: moneyIn("USD"),
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
    expect([...host.querySelectorAll("td")].map((cell) => cell.textContent)).toEqual([
      "BCube",
      "$92,340",
      "modelled",
    ]);
  });

  it("draw no line over missing values, and a dot for a value alone", () => {
    const points = Array.from({ length: 40 }, (_, x) => ({
      x,
      y: 1,
      ...((x === 10 || x === 20 || x === 21) && { gap: true }),
    }));
    act(() =>
      root.render(
        <LineChart
          title="ABT"
          theme="light"
          provenance="seed 7"
          xLabel="time"
          yLabel="Mb/s"
          series={[{ id: "abt", label: "ABT", points }]}
        />,
      ),
    );
    const line = host.querySelector("svg g path")!.getAttribute("d")!;
    expect(line.match(/M/g)).toHaveLength(4);
    expect(line.match(/L/g)).toHaveLength(40 - 4);
    expect(host.querySelectorAll("svg g path[transform]")).toHaveLength(1);
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
