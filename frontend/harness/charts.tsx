import { useState } from "react";
import { LineChart, SmallMultiples } from "../src/charts";
import { formatMetres, formatPercent, formatWatts, moneyIn, type ThemeName } from "../src/units";

const curve = (a: number) =>
  Array.from({ length: 21 }, (_, i) => ({ x: i / 100, y: 1000 * Math.exp(-a * i) }));
const plans = ["BCube(8,3)", "DCell(8,2)", "Fat-tree 8\u00d75", "CamCube 13\u00d713\u00d712"];

export function Charts({ theme }: { theme: ThemeName }) {
  const [at, setAt] = useState<number | null>(null);
  const bars = (values: (number | null)[]) =>
    values.map((value, i) => ({
      id: String(i),
      label: plans[i]!,
      value,
      isBase: i === 0,
      basis: i === 3 ? ("assumed" as const) : ("measured" as const),
    }));
  const provenance = "sample numbers \u00b7 seed 7 \u00b7 flow engine 0.1.0 \u00b7 modelled";
  return (
    <div style={{ padding: 16, overflow: "auto" }}>
      <LineChart
        title="Failure resilience"
        theme={theme}
        provenance={provenance}
        xLabel="failed switches"
        yLabel="ABT, Gb/s"
        xFormat={(v) => formatPercent(v)}
        at={at}
        onAt={setAt}
        markers={[{ x: 0.05, label: "2 switches down" }]}
        series={[
          {
            id: "b",
            label: "BCube",
            points: curve(0.03),
            band: curve(0.03).map((p) => ({ x: p.x, low: p.y * 0.93, high: p.y * 1.06 })),
          },
          { id: "f", label: "Fat-tree", points: curve(0.12) },
          { id: "p", label: "paper", points: curve(0.035).filter((_, i) => i % 4 === 0), pointsOnly: true },
        ]}
      />
      <SmallMultiples
        theme={theme}
        provenance={provenance}
        panels={[
          {
            id: "cost",
            title: "Cost",
            unit: "USD",
            items: bars([92340, 131200, 244000, null]),
            format: moneyIn("USD"),
          },
          {
            id: "power",
            title: "Power",
            unit: "W",
            items: bars([273000, 268000, 301000, 255000]),
            format: formatWatts,
          },
          {
            id: "len",
            title: "Cable length",
            unit: "m",
            items: bars([21400, 15400, 64000, 12000]),
            format: formatMetres,
          },
        ]}
      />
    </div>
  );
}
