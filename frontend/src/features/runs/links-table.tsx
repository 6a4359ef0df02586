import { useMemo, useState } from "react";
import type { PlanModel } from "@/scene/model";
import { highlightOf, type Selection } from "@/scene/selection";
import type { LinkLoad } from "@/shared/runs/run-points";
import { Button } from "@/ui/button";
import { DataTable } from "@/ui/data-table";
import { csvOf, type SortBy } from "@/ui/table-order";
import { formatShare, plural } from "@/units";
import { saveFile } from "@/units/save-file";
import { linkColumns } from "./link-columns";
import styles from "./runs.module.css";

/**
 * The load of links as rows, the most loaded first; only those of the selection if there is one.
 */
export function LinksTable({
  id,
  model,
  load,
  selection,
  select,
  name,
  format,
}: {
  id: string;
  model: PlanModel;
  load: LinkLoad;
  selection: Selection;
  select: (selection: Selection) => void;
  name: string;
  /** The format of a load; a count if not given. */
  format?: (value: number) => string;
}) {
  const [sort, setSort] = useState<SortBy | null>({ column: "most", descending: true });
  const columns = useMemo(() => linkColumns(model, load, format), [model, load, format]);
  // A selected link is shown among all links; a selected item with several links shows only these.
  const within = selection !== null && selection.kind !== "cable" ? selection : null;
  const rows = useMemo(
    () => [
      ...(highlightOf(model, within)?.cables ?? Array.from({ length: model.cables.count }, (_, i) => i)),
    ],
    [model, within],
  );
  return (
    <div id={id}>
      <div className={styles.bar}>
        <span className="muted plain">{`${formatShare(rows.length, model.cables.count)} links`}</span>
        {selection && (
          <Button small icon="close" onClick={() => select(null)}>
            {`Clear ${plural(selection.ids.length, selection.kind)}`}
          </Button>
        )}
        <span className={styles.space} />
        <Button
          small
          onClick={() =>
            saveFile(
              csvOf(
                columns.map((column) => column.title),
                rows.map((row) => columns.map((column) => column.text(row))),
              ),
              `${name}.csv`,
            )
          }
        >
          CSV
        </Button>
      </div>
      <div className={styles.table}>
        <DataTable
          label="Load per link"
          columns={columns}
          rows={rows}
          sort={sort}
          onSort={setSort}
          isSelected={(row) => selection?.kind === "cable" && selection.ids.includes(row)}
          onActivate={(row) => select({ kind: "cable", ids: [row] })}
          empty="No links."
        />
      </div>
    </div>
  );
}
