import { LineChart } from "@/charts";
import { useTheme } from "@/ui/theme";
import { formatNumber, formatPercent, formatShort } from "@/units";
import { bandSeries, computedSeries, fallenSeries } from "./curves";
import type { LifeDocument, LifeState } from "./use-life";

const X = { xLabel: "Years", xFormat: (year: number) => formatShort(year, 2) };
const HEIGHT = 260;

/** Servers as soon as they are known, throughput and the floors at the end. */
export function LifeCharts({ life, seeds }: { life: LifeState; seeds: number }) {
  const theme = useTheme(({ name }) => name);
  const { plan, document } = life;
  if (!plan || life.curves.length === 0) return null;
  const provenance = document
    ? `Modelled; plan ${document.plan_hash.slice(0, 12)}; engine ${document.engine_version}; seeds ${document.first_seed} to ${document.first_seed + document.seeds - 1}; median, band 5 to 95 %`
    : `Modelled; ${seeds} seeds; median, band 5 to 95 %`;
  const connected = life.curves.map((curves, at) => ({ title: plan.policies[at]!, band: curves.connected }));
  return (
    <>
      <LineChart
        {...X}
        title="Servers alive and connected"
        theme={theme}
        height={HEIGHT}
        provenance={`${provenance}; exact for every seed`}
        series={bandSeries(plan.months, connected)}
        yLabel="Servers"
        yFormat={(value) => formatNumber(value)}
      />
      {document && <Throughput document={document} provenance={provenance} />}
    </>
  );
}

function Throughput({ document, provenance }: { document: LifeDocument; provenance: string }) {
  const theme = useTheme(({ name }) => name);
  const bands = document.policies.map(({ title, curves }) => ({ title, band: curves.abt_gbps! }));
  const { throughput } = document;
  const series = bandSeries(document.months, bands);
  return (
    <>
      <LineChart
        {...X}
        title="Aggregate bottleneck throughput of what is left"
        theme={theme}
        height={HEIGHT}
        provenance={`${provenance}; ${throughput.interpolated ? "interpolated between computed states" : "every state computed"}`}
        series={throughput.interpolated ? [...series, ...computedSeries(document)] : series}
        yLabel="Gb/s"
        yFormat={(value) => formatNumber(value)}
      />
      {(["servers", "abt"] as const).map((floor) => (
        <LineChart
          {...X}
          key={floor}
          title={`Lives that have been below ${formatPercent(document.floors[floor])} of ${floor === "abt" ? "ABT" : "servers"}`}
          theme={theme}
          height={180}
          provenance={provenance}
          series={fallenSeries(document, floor)}
          yLabel="Share of lives"
          yFormat={(value) => formatPercent(value)}
          yDomain={[0, 1]}
        />
      ))}
    </>
  );
}
