import { Link } from "@tanstack/react-router";
import { Empty } from "@/ui/marks";
import { Downloads } from "../shared/run-downloads";
import { useRunFeed } from "../shared/run-feed";
import { RunFrame, type RunViewProps } from "../shared/run-frame";
import { emptyLog, reduceLog } from "../shared/run-points";
import { isOver } from "../shared/runs";

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
