import { formatDate } from "@/units";
import type { Computed } from "../state/preview";
import { totalsOf } from "../totals/totals";
import styles from "./print-sheet.module.css";

/** The top of the first printed page, above the drawing: plan, engine and date. */
export default function PrintHead({ computed, name }: { computed: Computed; name: string }) {
  const { summary } = computed;
  return (
    <div className={`print-only ${styles.sheet}`}>
      <h1>{name}</h1>
      <p>
        {summary.title} · plan {summary.plan_hash.slice(0, 12)} · engine {summary.engine_version} · printed{" "}
        {formatDate(Date.now())} · modelled
      </p>
      <dl>
        {totalsOf(summary).map((row) => (
          <div key={row.id}>
            <dt>{row.title}</dt>
            <dd>
              {row.atLeast && "at least "}
              {row.format(row.value)}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
