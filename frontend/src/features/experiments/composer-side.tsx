/** The estimated cost of the experiment, or its document; and the saved experiments. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ApiError } from "@/api/client";
import type { ExperimentsSearch } from "@/shared/runs/run-url";
import { ProblemView } from "@/shared/server/problem";
import { Skeleton } from "@/ui/marks";
import { Segmented } from "@/ui/tabs";
import type { Draft } from "./draft";
import { EstimateView, type useEstimate } from "./estimate";
import styles from "./experiments.module.css";
import { ExperimentsList } from "./experiments-list";
import { JsonView } from "./json-view";

export function ComposerSide({
  draft,
  estimate,
  pending,
  problem,
  error,
  onRetry,
  onChange,
}: {
  draft: Draft;
  estimate: ReturnType<typeof useEstimate>["estimate"];
  pending: boolean;
  /** Why the run did not start. */
  problem: unknown;
  /** Why there is no estimate. */
  error: unknown;
  onRetry: () => void;
  onChange: (draft: Draft) => void;
}) {
  const search = useSearch({ strict: false }) as ExperimentsSearch;
  const navigate = useNavigate();
  const setSearch = (to: Partial<ExperimentsSearch>) =>
    void navigate({ from: "/experiments", to: ".", search: (old) => ({ ...old, ...to }), replace: true });

  return (
    <div className={styles.side}>
      <div className={styles.bar}>
        <h2>This experiment</h2>
        <span className={styles.space} />
        <Segmented
          label="Show as"
          value={search.as ?? "estimate"}
          onChange={(as) => setSearch({ as: as === "json" ? as : undefined })}
          items={[
            { id: "estimate", label: "Estimate" },
            { id: "json", label: "JSON" },
          ]}
        />
      </div>
      {problem !== null && <ProblemView error={problem} />}
      {search.as === "json" ? (
        <JsonView draft={draft} onChange={onChange} />
      ) : estimate ? (
        <div data-stale={pending} className={styles.estimated}>
          <EstimateView draft={draft} estimate={estimate} />
        </div>
      ) : error && !(error instanceof ApiError && error.status === 422) ? (
        <ProblemView error={error} onRetry={onRetry} />
      ) : error ? (
        <p className="muted tight">The estimate appears once the experiment can be run.</p>
      ) : (
        <Skeleton height={96} />
      )}
      <ExperimentsList q={search.q} onQ={(q) => setSearch({ q })} />
    </div>
  );
}
