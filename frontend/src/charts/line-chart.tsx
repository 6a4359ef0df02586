/**
 * Lines over a common x, with their legend, their table and their files; several charts can share a
 * crosshair.
 */
import { useMemo } from "react";
import { formatShort, THEMES } from "@/units";
import styles from "./chart.module.css";
import { ChartFrame } from "./chart-frame";
import { LinePlot } from "./line-plot";
import { mergedRows, seriesLook, symbolPath } from "./series";
import type { ChartColumn, LineChartProps, LineSeries } from "./types";

export function LineChart(props: LineChartProps) {
  const { series, theme } = props;
  const xFormat = props.xFormat ?? ((value: number) => formatShort(value, 2));
  const yFormat = props.yFormat ?? ((value: number) => formatShort(value, 2));
  const columns = useMemo<ChartColumn[]>(() => {
    const { xs, ys } = mergedRows(series);
    return [
      { header: props.xLabel, values: xs, format: xFormat },
      ...series.flatMap((s, i) => [
        { header: s.label, values: ys[i]!, format: yFormat },
        ...bandColumns(s, xs, yFormat),
      ]),
    ];
  }, [series, props.xLabel, xFormat, yFormat]);
  const tokens = THEMES[theme];
  return (
    <ChartFrame
      title={props.title}
      theme={theme}
      provenance={props.provenance}
      fileName={props.fileName}
      columns={columns}
      legend={
        series.length > 1 && (
          <ul className={styles.legend}>
            {series.map((s, i) => {
              const look = seriesLook(tokens, s.look ?? i);
              return (
                <li key={s.id}>
                  <svg width="24" height="10" aria-hidden="true">
                    {s.pointsOnly ? (
                      <path
                        transform="translate(12 5)"
                        d={symbolPath(look.symbol, 3.5)}
                        fill="none"
                        stroke={look.colour}
                        strokeWidth="2"
                      />
                    ) : (
                      <line
                        x2="24"
                        y1="5"
                        y2="5"
                        stroke={look.colour}
                        strokeWidth="2"
                        strokeDasharray={look.dashPx.join(" ")}
                      />
                    )}
                  </svg>
                  {s.label}
                </li>
              );
            })}
          </ul>
        )
      }
    >
      {(width) => <LinePlot {...props} width={width} xFormat={xFormat} yFormat={yFormat} />}
    </ChartFrame>
  );
}

/** The edges of a band are data too: the table and the CSV list them next to their line. */
function bandColumns(
  { label, band }: LineSeries,
  xs: readonly number[],
  format: (value: number) => string,
): ChartColumn[] {
  if (!band) return [];
  const byX = new Map(band.map((edge) => [edge.x, edge]));
  const column = (name: string, edge: "low" | "high") => ({
    header: `${label}, ${name}`,
    values: xs.map((x) => byX.get(x)?.[edge] ?? null),
    format,
  });
  return [column("from", "low"), column("to", "high")];
}
