import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { api, take } from "@/api/client";
import { BasisBadge, Skeleton } from "@/ui/marks";
import { formatShare } from "@/units";
import { type Command, useCommands } from "../shared/commands";
import { type ScreenRequest, useScreen } from "../shared/curl";
import { formatDate } from "../shared/dates";
import { ProblemView } from "../shared/problem";
import { isOver } from "../shared/runs";
import { Shell } from "../shared/shell";
import { groupByPaper, sourceParts } from "./figures";
import styles from "./figures.module.css";
import { VerdictSummary } from "./verdict-mark";

const REQUESTS: ScreenRequest[] = [{ title: "All figures", method: "GET", path: "/api/v1/figures" }];

/** Every published figure and table, by paper, with how ours stood the last time it was computed. */
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
  useEffect(() => {
    document.title = "Figures · Cubeyard";
  }, []);
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
  const ran = items.filter((figure) => figure.result_run !== null).length;

  return (
    <Shell status={figures.data && <span>{`${formatShare(ran, items.length)} figures have a result`}</span>}>
      <div className={styles.page}>
        <div className={styles.head}>
          <h1>Figures</h1>
          <p>
            What the papers printed beside what the engine computes <BasisBadge basis="modelled" /> and what
            real packets do on this machine <BasisBadge basis="measured" />
          </p>
        </div>
        {figures.isError ? (
          <ProblemView error={figures.error} onRetry={() => void figures.refetch()} />
        ) : !figures.data ? (
          <div className={styles.loading}>
            {Array.from({ length: 14 }, (_, at) => (
              <Skeleton key={at} height={28} />
            ))}
          </div>
        ) : (
          groups.map((group) => (
            <section key={group.paper} className={styles.block} aria-labelledby={`paper-${group.paper}`}>
              <h2 id={`paper-${group.paper}`}>
                {group.name} <span className={styles.muted}>{group.title}</span>
              </h2>
              <table className={styles.table}>
                <thead>
                  <tr>
                    <th scope="col">What it shows</th>
                    <th scope="col" className={styles.place}>
                      Published in
                    </th>
                    <th scope="col" className={styles.counts}>
                      Ours against the paper
                    </th>
                    <th scope="col" className={styles.when}>
                      Last run
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {group.items.map((figure) => (
                    <tr key={figure.id}>
                      <th scope="row">
                        <Link to="/figures/$id" params={{ id: figure.id }}>
                          {figure.title}
                        </Link>{" "}
                        {figure.basis === "measured" && <BasisBadge basis="measured" />}
                      </th>
                      <td>{sourceParts(figure.source).place}</td>
                      <td>
                        <VerdictSummary figure={figure} />
                      </td>
                      <td className={styles.muted}>
                        {figure.latest_run
                          ? `${formatDate(new Date(figure.latest_run.created_at))}${figure.latest_run.state === "succeeded" ? "" : `, ${figure.latest_run.state}`}`
                          : "–"}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          ))
        )}
      </div>
    </Shell>
  );
}
