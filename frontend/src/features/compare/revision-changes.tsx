import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import { ProblemView } from "@/shared/server/problem";
import { ColumnHeads } from "@/ui/column-heads";
import { Skeleton } from "@/ui/marks";
import styles from "./revision-changes.module.css";
import { cablesText, placesText, type RevisionPair } from "./revisions";

/**
 * The changes from one revision of a plan to another: fields of the spec, racks, devices and
 * cables.
 */
export default function RevisionChanges({ id, earlier, revision }: RevisionPair) {
  const query = useQuery({
    queryKey: ["since", id, revision, earlier],
    queryFn: ({ signal }) =>
      take(
        api.GET("/api/v1/plans/{id}/revisions/{revision}/since/{earlier}", {
          params: { path: { id, revision, earlier } },
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (query.isError) return <ProblemView error={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <Skeleton height={120} />;
  const { spec, racks, devices, cables } = query.data;
  return (
    <section className={styles.changes} aria-labelledby="revision-changes">
      <h2 id="revision-changes">
        Changed from r{earlier} to r{revision}
      </h2>
      <dl className={styles.places}>
        <dt>Racks</dt>
        <dd>{placesText(racks)}</dd>
        <dt>Devices</dt>
        <dd>{placesText(devices)}</dd>
        <dt>Cables</dt>
        <dd>{cablesText(cables)}</dd>
      </dl>
      {spec.length === 0 ? (
        <p className={styles.muted}>The specs are equal.</p>
      ) : (
        <table className={styles.spec}>
          <caption className="visually-hidden">Fields of the spec that changed</caption>
          <ColumnHeads columns={["Field", `r${earlier}`, `r${revision}`]} />
          <tbody>
            {spec.map(({ field, before, after }) => (
              <tr key={field}>
                <th scope="row">{field}</th>
                <td>{before ?? "default"}</td>
                <td>{after ?? "default"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
