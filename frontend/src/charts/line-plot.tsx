/**
 * The lines themselves with axes, markers and a crosshair that follows the pointer and the arrow
 * keys.
 */
import { useMemo } from "react";
import { THEMES } from "@/units";
import { AxisBottom, AxisLeft } from "./axis";
import styles from "./chart.module.css";
import { PlotReadout, readingsAt, readoutText } from "./plot-readout";
import { MARGIN, plotScales } from "./plot-scales";
import { PlotMarker, PlotSeries } from "./plot-series";
import type { LineChartProps } from "./types";
import { useCrosshairAt } from "./use-crosshair-at";

type PlotProps = LineChartProps & {
  width: number;
  xFormat: (value: number) => string;
  yFormat: (value: number) => string;
};

export function LinePlot(props: PlotProps) {
  const { series, width, theme, xFormat, yFormat, xDomain, yDomain, markers = [] } = props;
  const height = props.height ?? 220;
  const tokens = THEMES[theme];
  const scales = useMemo(
    () => plotScales({ series, xDomain, yDomain }, width, height),
    [series, width, height, xDomain, yDomain],
  );
  const { at, handlers } = useCrosshairAt(props, scales.x, width);
  const readings = at === null ? null : readingsAt(series, at);
  const spoken = readings
    ? `${props.xLabel} ${xFormat(at!)}: ${readings.map(({ series: { label }, point }) => `${label} ${yFormat(point.y)}`).join(", ")}`
    : "";
  const { shown, unitHasRoom } = readoutText(spoken, props.xLabel, width);
  const ticksFit = Math.max(2, Math.floor(width / 90));
  return (
    <>
      <svg
        className={styles.plot}
        viewBox={`0 0 ${width} ${height}`}
        height={height}
        role="img"
        aria-label={`${props.title}: ${props.yLabel} over ${props.xLabel}, ${series.map((s) => s.label).join(", ")}. Left and right read values; the table has all of them.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move the crosshair
        tabIndex={0}
        {...handlers}
      >
        <AxisLeft
          scale={scales.y}
          ticks={4}
          format={props.yTick ?? yFormat}
          tokens={tokens}
          label={unitHasRoom ? props.yLabel : ""}
          x={MARGIN.left}
          right={width - MARGIN.right}
        />
        <AxisBottom
          scale={scales.x}
          ticks={Math.min(props.xTicks ?? Number.POSITIVE_INFINITY, ticksFit)}
          format={xFormat}
          tokens={tokens}
          label={props.xLabel}
          y={height - MARGIN.bottom}
        />
        {markers.map((marker) => (
          <PlotMarker
            key={`${marker.x}:${marker.label}`}
            marker={marker}
            x={scales.x}
            top={MARGIN.top}
            bottom={height - MARGIN.bottom}
            tokens={tokens}
          />
        ))}
        {series.map((s, i) => (
          <PlotSeries key={s.id} series={s} index={s.look ?? i} scales={scales} tokens={tokens} />
        ))}
        {readings && (
          <PlotReadout
            at={at!}
            readings={readings}
            text={shown}
            scales={scales}
            width={width}
            height={height}
            tokens={tokens}
          />
        )}
      </svg>
      <output className="visually-hidden" aria-live="polite">
        {spoken}
      </output>
    </>
  );
}
