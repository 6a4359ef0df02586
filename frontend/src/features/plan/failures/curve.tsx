/**
 * Throughput of both networks over the share that failed. Computed points are dots; the lines
 * between them are straight.
 */
import styles from "./failures-section.module.css";
import { MOST, type Points } from "./points";

const WIDTH = 280;
const HEIGHT = 92;
const EDGE = 5;
const HEADROOM = 1.06;

const xOf = (ratio: number): number => EDGE + (ratio / MOST) * (WIDTH - 2 * EDGE);

export function Curve({ plan, reference, ratio }: { plan: Points; reference: Points; ratio: number }) {
  const most = Math.max(0, ...[...plan.values(), ...reference.values()].map((point) => point.abt_gbps));
  const yOf = (gbps: number): number => HEIGHT - EDGE - (gbps / (most * HEADROOM || 1)) * (HEIGHT - 2 * EDGE);
  const line = (points: Points) =>
    [...points].sort(([a], [b]) => a - b).map(([x, point]) => [xOf(x), yOf(point.abt_gbps)] as const);
  return (
    <svg className={styles.curve} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <line x1={EDGE} x2={WIDTH - EDGE} y1={HEIGHT - EDGE} y2={HEIGHT - EDGE} className={styles.axis} />
      <line x1={xOf(ratio)} x2={xOf(ratio)} y1={EDGE} y2={HEIGHT - EDGE} className={styles.at} />
      {(
        [
          [reference, styles.referenceLine],
          [plan, styles.planLine],
        ] as const
      ).map(([points, look]) => (
        <g key={look} className={look}>
          <polyline
            points={line(points)
              .map((xy) => xy.join(","))
              .join(" ")}
          />
          {line(points).map(([x, y]) => (
            <circle key={x} cx={x} cy={y} r={2.5} />
          ))}
        </g>
      ))}
    </svg>
  );
}
