/** Points of two values: steps join the best points, and each of these is a link. */
import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { THEMES } from "@/units";
import { AxisBottom, AxisLeft } from "./axis";
import styles from "./chart.module.css";
import { ChartFrame } from "./chart-frame";
import type { ChartCommon } from "./types";

export interface ScatterPoint {
  id: string;
  label: string;
  x: number;
  y: number;
  /** On the front: drawn larger, joined, and a link. */
  best: boolean;
  /** Drawn as a cross: it does not keep a limit. */
  short?: boolean;
}

const LEFT = 64;
const RIGHT = 16;
const TOP = 28;
const BOTTOM = 44;

interface ScatterProps extends ChartCommon {
  points: readonly ScatterPoint[];
  xLabel: string;
  yLabel: string;
  xFormat: (value: number) => string;
  yFormat: (value: number) => string;
  onOpen: (id: string) => void;
}

export function Scatter(props: ScatterProps) {
  const { points, xFormat, yFormat } = props;
  const place = (point: ScatterPoint) => (point.best ? "front" : point.short ? "short of a limit" : "beside");
  return (
    <ChartFrame
      title={props.title}
      theme={props.theme}
      provenance={props.provenance}
      fileName={props.fileName}
      columns={[
        { header: "Plan", values: points.map((point) => point.label) },
        { header: props.xLabel, values: points.map((point) => point.x), format: xFormat },
        { header: props.yLabel, values: points.map((point) => point.y), format: yFormat },
        { header: "Place", values: points.map(place) },
      ]}
    >
      {(width) => <Plot {...props} width={width} />}
    </ChartFrame>
  );
}

/** A domain around the values, never empty. */
function around(values: readonly number[]): [number, number] {
  const [least = 0, most = 1] = extent(values) as [number?, number?];
  const margin = (most - least || Math.abs(most) || 1) * 0.06;
  return [least - margin, most + margin];
}

function Plot({
  points,
  theme,
  width,
  height = 340,
  xLabel,
  yLabel,
  xFormat,
  yFormat,
  title,
  onOpen,
}: ScatterProps & { width: number }) {
  const tokens = THEMES[theme];
  const x = scaleLinear(around(points.map((point) => point.x)), [LEFT, Math.max(LEFT + 40, width - RIGHT)]);
  const y = scaleLinear(around(points.map((point) => point.y)), [height - BOTTOM, TOP]);
  const best = points.filter((point) => point.best).sort((a, b) => a.x - b.x || a.y - b.y);
  const steps = best.map((point, i) =>
    i === 0 ? `M${x(point.x)},${y(point.y)}` : `H${x(point.x)}V${y(point.y)}`,
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is no picture
    <svg
      className={styles.plot}
      viewBox={`0 0 ${width} ${height}`}
      height={height}
      role="group"
      aria-label={`${title}: ${best.length} on the front`}
    >
      <AxisLeft
        scale={y}
        ticks={5}
        format={yFormat}
        tokens={tokens}
        label={yLabel}
        x={LEFT}
        right={width - RIGHT}
      />
      <AxisBottom
        scale={x}
        ticks={width < 480 ? 3 : 6}
        format={xFormat}
        tokens={tokens}
        label={xLabel}
        y={height - BOTTOM}
      />
      <path d={steps.join("")} fill="none" stroke={tokens.accent} strokeDasharray="4 3" />
      {points
        .filter((point) => !point.best)
        .map((point) => (
          <Beside key={point.id} point={point} at={[x(point.x), y(point.y)]} colour={tokens.muted} />
        ))}
      {best.map((point) => (
        <a
          key={point.id}
          href={`#${point.id}`}
          aria-label={`${point.label}: ${xFormat(point.x)}, ${yFormat(point.y)}`}
          onClick={(event) => {
            event.preventDefault();
            onOpen(point.id);
          }}
        >
          <title>{`${point.label}: ${xFormat(point.x)}, ${yFormat(point.y)}`}</title>
          <circle cx={x(point.x)} cy={y(point.y)} r={12} fill="transparent" />
          <circle cx={x(point.x)} cy={y(point.y)} r={5} fill={tokens.accent} stroke={tokens.background} />
        </a>
      ))}
    </svg>
  );
}

function Beside({
  point,
  at: [x, y],
  colour,
}: {
  point: ScatterPoint;
  at: [number, number];
  colour: string;
}) {
  if (point.short) return <path d={`M${x - 3},${y - 3}l6,6m0,-6l-6,6`} stroke={colour} strokeOpacity={0.6} />;
  return <circle cx={x} cy={y} r={3} fill="none" stroke={colour} />;
}
