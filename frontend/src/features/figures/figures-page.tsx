import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { api, take } from "@/api/client";
import type { FigureSummary } from "@/api/types";
import { isOver } from "@/shared/runs/runs";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { type Command, useCommands } from "@/shared/shell/commands";
import { Shell } from "@/shared/shell/shell";
import { ColumnHeads } from "@/ui/column-heads";
import { BasisBadge, Skeletons } from "@/ui/marks";
import { useTitle } from "@/ui/use-title";
import { formatDate, formatShare } from "@/units";
import { groupByPaper, paperName, paperText, sourceParts } from "./figures";
import styles from "./figures.module.css";
import { VerdictSummary } from "./verdict-mark";

const REQUESTS: ScreenRequest[] = [{ title: "All figures", method: "GET", path: "/api/v1/figures" }];

/**
 * Every published figure and table, by paper, with how ours stood the last time it was computed.
 */
export default function FiguresPage() {
  const navigate = useNavigate();
  const figures = useQuery({
    queryKey: ["figures"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/figures", { signal })),
    // A result may have come while another page was open.
    refetchOnMount: "always",
    refetchInterval: (query) =>
      query.state.data?.items.some((f) => f.latest_run && !isOver(f.latest_run.state)) ? 2000 : false,
  });
  useTitle("Figures");
  useScreen(REQUESTS);

  const items = useMemo(() => figures.data?.items ?? [], [figures.data]);
  const groups = useMemo(() => groupByPaper(items), [items]);
  const commands = useMemo<Command[]>(
    () =>
      items.map((figure) => ({
        id: `figure-${figure.id}`,
        title: figure.title,
        group: "Figure",
        hint: figure.source,
        run: () => void navigate({ to: "/figures/$id", params: { id: figure.id } }),
      })),
    [items, navigate],
  );
  useCommands("figures", commands);
  const papers = figures.data?.papers ?? [];
  const counts = new Map(papers.map((count) => [count.paper, paperText(count)]));
  const without = papers.filter((count) => !groups.some((group) => group.paper === count.paper));
  const ran = items.filter((figure) => figure.result_from === "run").length;

  return (
    <Shell status={figures.data && <span>{`${formatShare(ran, items.length)} figures were run here`}</span>}>
      <div className={styles.page}>
        <div className={styles.head}>
          <h1>Figures</h1>
          <p>
            Numbers from the papers, compared with the engine’s results <BasisBadge basis="modelled" /> and
            with emulation on this machine <BasisBadge basis="measured" />
          </p>
        </div>
        {figures.isError ? (
          <ProblemView error={figures.error} onRetry={() => void figures.refetch()} />
        ) : !figures.data ? (
          <Skeletons count={14} />
        ) : (
          groups.map((group) => (
            <section key={group.paper} className={styles.block} aria-labelledby={`paper-${group.paper}`}>
              <h2 id={`paper-${group.paper}`}>
                {group.name} <span className="muted plain">{group.title}</span>
              </h2>
              {counts.has(group.paper) && <p className="muted plain">{counts.get(group.paper)}</p>}
              <table className={styles.table}>
                <ColumnHeads
                  columns={[
                    "Title",
                    { title: "Source", className: styles.place },
                    { title: "Verdict", className: styles.counts },
                    { title: "Last run", className: styles.when },
                  ]}
                />
                <tbody>
                  {group.items.map((figure) => (
                    <FigureRow key={figure.id} figure={figure} />
                  ))}
                </tbody>
              </table>
            </section>
          ))
        )}
        {without.map((count) => (
          <p key={count.paper} className="muted plain">{`${paperName(count.paper)}: ${paperText(count)}`}</p>
        ))}
      </div>
    </Shell>
  );
}

function FigureRow({ figure }: { figure: FigureSummary }) {
  const { id, title, basis, source, latest_run, result_from } = figure;
  const state = latest_run && latest_run.state !== "succeeded" ? `, ${latest_run.state}` : "";
  return (
    <tr>
      <th scope="row">
        <Link to="/figures/$id" params={{ id }}>
          {title}
        </Link>{" "}
        {basis === "measured" && <BasisBadge basis="measured" />}
      </th>
      <td data-column="Source">{sourceParts(source).place}</td>
      <td>
        <VerdictSummary figure={figure} />
      </td>
      <td className="muted plain">
        {latest_run
          ? `${formatDate(latest_run.created_at)}${state}`
          : result_from === "reference"
            ? "reference"
            : "–"}
      </td>
    </tr>
  );
}
