import { cx } from "@/ui/cx";
import { Icon, type IconName } from "@/ui/icon";
import { countText, isVerdict, VERDICT_TEXT, type Verdict, verdictCounts } from "./figures";
import styles from "./figures.module.css";

const LOOKS: Record<Verdict, { icon: IconName; look: string | undefined }> = {
  matches: { icon: "check", look: styles.matches },
  "within band": { icon: "compare", look: styles.within },
  "bound holds": { icon: "check", look: styles.within },
  differs: { icon: "warning", look: styles.differs },
};

/** A verdict in an icon and a word, so that colour is never the only cue. */
export function VerdictMark({ verdict, children }: { verdict: string; children?: string }) {
  const known = isVerdict(verdict) ? LOOKS[verdict] : undefined;
  return (
    <span className={cx(styles.verdict, known?.look)}>
      <Icon name={known?.icon ?? "info"} size={14} />
      {children ?? (isVerdict(verdict) ? VERDICT_TEXT[verdict] : verdict)}
    </span>
  );
}

export function VerdictSummary({
  figure,
}: {
  figure: { verdicts: Record<string, number>; result_from: "run" | "reference" | null };
}) {
  const counts = verdictCounts(figure);
  if (counts === null)
    return (
      <span className={styles.verdict}>
        <Icon name="minus" size={14} />
        not run
      </span>
    );
  return (
    <span className={styles.summary}>
      {counts
        .filter(({ count }) => count > 0)
        .map(({ verdict, count }) => (
          <VerdictMark key={verdict} verdict={verdict}>
            {countText(verdict, count)}
          </VerdictMark>
        ))}
    </span>
  );
}
