/** Runs as a table, each with a way to cancel or delete it. */
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Run } from "@/api/types";
import { RunMark } from "@/shared/runs/run-mark";
import { isOver, remainingText } from "@/shared/runs/runs";
import { Button, IconButton } from "@/ui/button";
import { ColumnHeads } from "@/ui/column-heads";
import list from "@/ui/list.module.css";
import { formatCount, formatDate, formatPercent, plural } from "@/units";

export function RunsTable({
  runs,
  onCancel,
  onDelete,
}: {
  runs: readonly Run[];
  onCancel: (run: Run) => void;
  onDelete: (run: Run) => void;
}) {
  return (
    <table className={list.table}>
      <ColumnHeads
        columns={[
          "Run",
          { title: "Kind", className: list.short },
          { title: "State", className: list.medium },
          { title: "Progress", className: list.wide },
          { title: "Started", className: list.date },
          { title: "Actions", className: list.tools, hidden: true },
        ]}
      />
      <tbody>
        {runs.map((run) => (
          <RunRow key={run.id} run={run} onCancel={() => onCancel(run)} onDelete={() => onDelete(run)} />
        ))}
      </tbody>
    </table>
  );
}

function RunRow({ run, onCancel, onDelete }: { run: Run; onCancel: () => void; onDelete: () => void }) {
  const over = isOver(run.state);
  const [confirming, setConfirming] = useState(false);
  return (
    <tr>
      <th scope="row">
        <Link to="/runs/$id" params={{ id: run.id }}>
          {run.title}
        </Link>
        {run.reason && <p className="muted">{run.reason}</p>}
      </th>
      <td>{run.kind}</td>
      <td>
        <RunMark state={run.state} />
      </td>
      <td>
        {over ? (
          <span className="muted">
            {`${formatCount(run.points_done)} of ${plural(run.points_total, "point")}`}
          </span>
        ) : (
          <>
            <progress max={1} value={run.progress} aria-label={`Progress of ${run.title}`} />
            <span className="muted">
              {` ${formatPercent(run.progress)} ${remainingText(run.remaining_secs)}`}
            </span>
          </>
        )}
      </td>
      <td className="muted">{formatDate(run.created_at)}</td>
      <td className={list.actions}>
        {!over ? (
          <Button small onClick={onCancel} aria-label={`Cancel ${run.title}`}>
            Cancel
          </Button>
        ) : confirming ? (
          <Button small onClick={onDelete} onBlur={() => setConfirming(false)}>
            Delete permanently
          </Button>
        ) : (
          <IconButton small icon="trash" label={`Delete ${run.title}`} onClick={() => setConfirming(true)} />
        )}
      </td>
    </tr>
  );
}
