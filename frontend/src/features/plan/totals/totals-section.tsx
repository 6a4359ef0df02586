import type { Bom, Summary } from "@/api/types";
import { Section, Select } from "@/ui/form";
import { BasisBadge, Delta } from "@/ui/marks";
import {
  formatDelta,
  formatKilograms,
  formatMoney,
  formatPercent,
  formatPoints,
  kilogramsLike,
} from "@/units";
import rows from "../rows.module.css";
import { assumedShare, costParts, earlierValue, type TotalRow, totalsOf } from "./totals";
import styles from "./totals-section.module.css";

/** For shares in percentage points, for other numbers in their own unit. */
const changeText = (row: TotalRow, old: number | null): string =>
  row.format === formatPercent
    ? formatPoints(row.value ?? 0, old ?? 0)
    : formatDelta(
        (row.value ?? 0) - (old ?? 0),
        row.format === formatKilograms ? kilogramsLike(Math.max(row.value ?? 0, old ?? 0)) : row.format,
      );

export type Against = "previous" | "saved" | "opened";

/** The plan in numbers, each with its change relative to the chosen state. */
export function TotalsSection({
  summary,
  base,
  against,
  choices,
  onAgainst,
  onLongest,
}: {
  summary: Summary;
  base: Summary | null;
  against: Against;
  choices: { value: Against; label: string }[];
  onAgainst: (against: Against) => void;
  /** Selects the cable with the longest route. */
  onLongest: () => void;
}) {
  const before = base ? new Map(totalsOf(base).map((row) => [row.id, row])) : null;
  return (
    <Section
      title="Totals"
      aside={
        <span className={styles.against}>
          <span aria-hidden="true">Δ</span>
          <Select
            aria-label="Changes against"
            value={against}
            options={choices}
            onChange={(value) => onAgainst(value as Against)}
            width={124}
          />
        </span>
      }
    >
      <dl className={rows.rows}>
        {totalsOf(summary).map((row) => {
          const old = earlierValue(row, before?.get(row.id));
          const change = row.value !== null && old !== null && old !== undefined ? row.value - old : 0;
          // A change too small to be seen in the row's own format is no news.
          const visible = old !== undefined && row.format(row.value) !== row.format(old);
          return (
            <div key={row.id} className={rows.row}>
              <dt>{row.title}</dt>
              <dd data-total={row.id}>
                {visible && <Delta value={change} text={changeText(row, old)} better={row.better} />}
                <span title={row.atLeast ? "Lower bound: some parts have no price or weight" : undefined}>
                  {row.atLeast && (
                    <abbr title="at least" className={styles.atLeast}>
                      ≥
                    </abbr>
                  )}
                  {row.id === "longest" && row.value ? (
                    <button
                      type="button"
                      className="text-button"
                      title="Select this cable"
                      onClick={onLongest}
                    >
                      {row.format(row.value)}
                    </button>
                  ) : (
                    row.format(row.value)
                  )}
                </span>
              </dd>
            </div>
          );
        })}
      </dl>
      <p className={styles.note}>
        <BasisBadge basis="modelled" /> by the engine, with parts from the price book
      </p>
    </Section>
  );
}

/** Cost by kind, dearest first. */
export function MoneySection({ summary, bom }: { summary: Summary; bom: Bom }) {
  const parts = costParts(summary);
  const dearest = parts[0]?.amount ?? 1;
  const assumed = assumedShare(bom);
  if (parts.length === 0) return null;
  return (
    <Section title="Cost breakdown">
      <ul className={styles.parts}>
        {parts.map((part) => (
          <li key={part.title}>
            <span>{part.title}</span>
            <span className={styles.track} aria-hidden="true">
              <span style={{ width: `${(100 * part.amount) / dearest}%` }} />
            </span>
            <span className={styles.end} title={formatPercent(part.amount / summary.cost_usd.total, 1)}>
              {formatMoney(part.amount, summary.currency)}
            </span>
          </li>
        ))}
      </ul>
      {assumed > 0 && (
        <p className={styles.note}>
          <BasisBadge basis="assumed" /> {formatPercent(assumed)} of this total uses assumed prices
        </p>
      )}
    </Section>
  );
}
