import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import { ProblemView } from "@/shared/server/problem";
import { ColumnHeads } from "@/ui/column-heads";
import { BasisBadge, Skeleton } from "@/ui/marks";
import { ModalDialog } from "@/ui/overlay";
import { formatPercent } from "@/units";
import styles from "./failure-rates.module.css";

/**
 * How often parts fail, each with its source. A simulation of a plan's life starts from these and
 * can set its own.
 */
export default function FailureRates({ onClose }: { onClose: () => void }) {
  const rates = useQuery({
    queryKey: ["failure-rates"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/life/rates", { signal })),
  });
  return (
    <ModalDialog title="Failure rates" isOpen onClose={onClose} width={960}>
      {rates.isError ? (
        <ProblemView error={rates.error} onRetry={() => void rates.refetch()} />
      ) : !rates.data ? (
        <Skeleton height={320} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section className={styles.scroll} aria-label="Failure rates of parts" tabIndex={0}>
          <table className={styles.table}>
            <caption>
              The share of new parts that fail in their first year. The page Life takes these or your own.
            </caption>
            <ColumnHeads columns={["Part", "A year", "Basis", "Confidence", "Date", "Source"]} />
            <tbody>
              {rates.data.items.map((rate) => (
                <tr key={rate.part}>
                  <th scope="row">{rate.title}</th>
                  <td>{formatPercent(rate.afr, 2)}</td>
                  <td>
                    <BasisBadge basis={rate.basis} />
                  </td>
                  <td>{rate.confidence}</td>
                  <td className={styles.date}>{rate.date}</td>
                  <td>
                    {rate.source}. <span className={styles.note}>{rate.note}</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </ModalDialog>
  );
}
