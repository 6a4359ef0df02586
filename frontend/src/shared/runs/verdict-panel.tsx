/**
 * Whether each hypothesis of a run held, with its sentence. Loaded by runs whose experiment has
 * hypotheses.
 */
import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import type { Run } from "@/api/types";
import { downloadFrom } from "@/shared/server/download";
import { ProblemView } from "@/shared/server/problem";
import { buttonClass } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { Skeleton } from "@/ui/marks";
import styles from "./verdict-panel.module.css";

const OUTCOMES = {
  held: { icon: "check", text: "Met" },
  broken: { icon: "error", text: "Not met" },
  inconclusive: { icon: "info", text: "Inconclusive" },
  "not-tested": { icon: "warning", text: "Not tested" },
} as const;

export default function VerdictPanel({ run }: { run: Run }) {
  const { data, error } = useQuery({
    queryKey: ["verdict", run.id],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/runs/{id}/verdict", { params: { path: { id: run.id } }, signal })),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (error) return <ProblemView error={error} />;
  if (!data || typeof data === "string") return <Skeleton height={64} />;
  return (
    <section className={styles.panel} aria-label="Hypotheses">
      <div className={styles.head}>
        <h2>Hypotheses</h2>
        <button
          type="button"
          className={buttonClass("quiet", true)}
          title="One test case per hypothesis, for CI systems"
          onClick={() =>
            void downloadFrom(`/api/v1/runs/${run.id}/verdict?format=junit`, `run-${run.id}.xml`)
          }
        >
          <Icon name="export" size={14} />
          JUnit XML
        </button>
      </div>
      <ul>
        {data.hypotheses.map(({ title, outcome, sentence }, at) => {
          const { icon, text } = OUTCOMES[outcome];
          return (
            <li key={at} data-outcome={outcome}>
              <Icon name={icon} size={16} />
              <span>
                <strong>{title}</strong>
                <em>{text}</em>
                <small>{sentence}</small>
              </span>
            </li>
          );
        })}
        {[...(data.not_injected ?? []), ...(data.off_schedule ?? [])].map((sentence) => (
          <li key={sentence} data-outcome="not-tested">
            <Icon name="warning" size={16} />
            <span>
              <strong>{sentence}</strong>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
