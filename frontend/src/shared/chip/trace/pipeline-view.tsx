import { useMemo } from "react";
import type { ChipTrace } from "@/api/types";
import styles from "./chip-trace.module.css";
import { arrowPath, arrowsOf, BOX_HEIGHT, BOX_WIDTH, BOXES, HEIGHT, lightsOf, WIDTH } from "./pipeline";

/** The pipeline with the packet's path through it. The steps below describe the same in words. */
export function PipelineView({ trace }: { trace: ChipTrace | null }) {
  const lights = useMemo(() => lightsOf(trace), [trace]);
  const arrows = useMemo(() => arrowsOf(lights), [lights]);
  const lit = BOXES.filter((box) => lights.has(box.stage)).map((box) => box.label);
  const label = lit.length > 0 ? `Pipeline; the packet passed ${lit.join(", ")}` : "Pipeline";
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: on a narrow screen it scrolls
    <section className={styles.pipeline} tabIndex={0} aria-label="Pipeline">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
        {arrows.map((arrow) => (
          <path
            key={`${arrow.from.stage} ${arrow.to.stage}`}
            d={arrowPath(arrow)}
            className={styles.arrow}
            data-lit={arrow.lit || undefined}
          />
        ))}
        {BOXES.map((box) => (
          <g key={box.stage} className={styles.box} data-light={lights.get(box.stage)}>
            <rect x={box.x} y={box.y} width={BOX_WIDTH} height={BOX_HEIGHT} rx={4} />
            <text x={box.x + BOX_WIDTH / 2} y={box.y + BOX_HEIGHT / 2}>
              {box.label}
            </text>
          </g>
        ))}
      </svg>
    </section>
  );
}
