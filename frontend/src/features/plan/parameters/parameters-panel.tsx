import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import type { Summary } from "@/api/types";
import { ProblemView } from "@/shared/server/problem";
import { Lines } from "../layout/lines";
import { useFamilies } from "../state/plan-hooks";
import { pinOf, usePlan } from "../state/store";
import { CablingSection } from "./cabling-section";
import { FindingsSection } from "./findings-section";
import type { SpecProps } from "./option-fields";
import { PackagingSection } from "./packaging-section";
import styles from "./parameters-panel.module.css";
import { SiteSection } from "./site-section";
import { TopologySection } from "./topology-section";

/** All inputs of a plan, with the findings about them. */
export function ParametersPanel({
  summary,
  onLongest,
  ...parameters
}: SpecProps & { summary: Summary | undefined; onLongest: () => void }) {
  const { spec, findings } = parameters;
  const pin = usePlan(pinOf);
  const families = useFamilies();
  const books = useQuery({
    queryKey: ["books"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/catalog/books", { signal })),
  });
  const racks = useQuery({
    queryKey: ["parts", "rack", spec.catalog ?? null],
    queryFn: ({ signal }) =>
      take(
        api.GET("/api/v1/catalog/parts", {
          params: {
            query: { kind: "rack", ...(typeof spec.catalog === "string" && { book: spec.catalog }) },
          },
          signal,
        }),
      ),
  });
  return (
    <div className={styles.panel}>
      {families.data ? (
        <TopologySection families={families.data} {...parameters} />
      ) : families.isError ? (
        <ProblemView error={families.error} onRetry={() => void families.refetch()} />
      ) : (
        <Lines count={8} />
      )}
      <FindingsSection findings={findings} summary={summary} onLongest={onLongest} />
      <SiteSection {...parameters} racks={racks.data?.items ?? []} />
      <PackagingSection {...parameters} />
      <CablingSection {...parameters} books={books.data?.items ?? []} pin={pin} />
    </div>
  );
}
