/** What the experiment would take, or the document that it is; and those that were asked before. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ApiError } from "@/api/client";
import { Skeleton } from "@/ui/marks";
import { Segmented } from "@/ui/tabs";
import { ProblemView } from "../shared/problem";
import type { ExperimentsSearch } from "../shared/run-url";
import type { Draft } from "./draft";
import { EstimateView, type useEstimate } from "./estimate";
import styles from "./experiments.module.css";
import { ExperimentsList } from "./experiments-list";
import { JsonView } from "./json-view";
import { type Messages, otherMessages } from "./messages";

/** The fields of the form, which show their own messages. */
const SHOWN = [
  "name",
  "plan",
  "workload",
  "routing",
  "faults",
  "fault_schedules",
  "hypotheses",
  "link_gbps",
  "flow_gigabits",
  "seeds",
  "axes",
  "engine",
  "emulation",
];

export function ComposerSide({
  draft,
  estimate,
  pending,
  problem,
  error,
  messages,
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
  messages: Messages;
  onRetry: () => void;
  onChange: (draft: Draft) => void;
}) {
  const search = useSearch({ strict: false }) as ExperimentsSearch;
  const navigate = useNavigate();
  const setSearch = (to: Partial<ExperimentsSearch>) =>
    void navigate({ from: "/experiments", to: ".", search: (old) => ({ ...old, ...to }), replace: true });

  const others = otherMessages(messages, SHOWN);
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
      {others.length > 0 && (
        <ul className={styles.others} role="alert">
          {others.map((message) => (
            <li key={message}>{message}</li>
          ))}
        </ul>
      )}
      {search.as === "json" ? (
        <JsonView draft={draft} onChange={onChange} />
      ) : estimate ? (
        <div data-stale={pending} className={styles.estimated}>
          <EstimateView draft={draft} estimate={estimate} />
        </div>
      ) : error && !(error instanceof ApiError && error.status === 422) ? (
        <ProblemView error={error} onRetry={onRetry} />
      ) : error ? (
        <p className={styles.doc}>Correct the marked fields to see the estimate.</p>
      ) : (
        <Skeleton height={96} />
      )}
      <ExperimentsList q={search.q} onQ={(q) => setSearch({ q })} />
    </div>
  );
}
