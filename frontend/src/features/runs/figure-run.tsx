import { Link } from "@tanstack/react-router";
import { Downloads } from "@/shared/runs/run-downloads";
import { useRunFeed } from "@/shared/runs/run-feed";
import { RunFrame, type RunViewProps } from "@/shared/runs/run-frame";
import { emptyLog, reduceLog } from "@/shared/runs/run-points";
import { isOver } from "@/shared/runs/runs";
import { Empty } from "@/ui/marks";

/** The run of a published figure: its progress here, its numbers on the figure's own page. */
export default function FigureRun({ run }: RunViewProps) {
  const { value, feed, error } = useRunFeed(run.events_url, emptyLog(run), reduceLog);
  const { live } = value;
  return (
    <RunFrame run={run} live={live} feed={feed} error={error} actions={<Downloads run={run} />}>
      <Empty title={isOver(live.state) ? "This run computed a figure" : "Computing the figure…"}>
        <p>
          Compare its numbers with the paper’s on{" "}
          <Link to="/figures/$id" params={{ id: run.figure ?? "" }} style={{ textDecoration: "underline" }}>
            the figure’s page
          </Link>
          .
        </p>
      </Empty>
    </RunFrame>
  );
}
