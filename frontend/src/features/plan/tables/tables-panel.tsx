import { useMemo } from "react";
import { hasBreakouts, type PlanModel } from "@/scene/model";
import type { Highlight, Selection } from "@/scene/selection";
import { readSorts, TABS, type Tab, writeSorts } from "@/shared/plans/url-state";
import { Button } from "@/ui/button";
import { copyText } from "@/ui/clipboard";
import { DataTable } from "@/ui/data-table";
import { TextInput } from "@/ui/form";
import type { SortBy } from "@/ui/table-order";
import { Tabs } from "@/ui/tabs";
import { toast } from "@/ui/toast";
import { formatCount, formatShare } from "@/units";
import { saveFile } from "@/units/save-file";
import type { Computed } from "../state/preview";
import { usePlanSearch } from "../state/use-plan-view";
import { csvOfRows, rowsWith, useTableRows } from "./table-rows";
import styles from "./tables-panel.module.css";

const TITLES: Record<Tab, string> = { cables: "Cables", bom: "BOM", power: "Power", racks: "Racks" };

const range = (count: number) => Array.from({ length: count }, (_, at) => at);

/**
 * The plan as tables, filtered by the selection and by text: the data of every canvas, for reading
 * and copying.
 */
export function TablesPanel({
  computed,
  model,
  selection,
  highlight,
  select,
}: {
  computed: Computed;
  model: PlanModel;
  selection: Selection;
  highlight: Highlight | null;
  select: (selection: Selection) => void;
}) {
  const [search, setSearch] = usePlanSearch();
  const tab = search.tab ?? "cables";
  const sorts = useMemo(() => readSorts(search.sort), [search.sort]);

  const { columns, counts, selected } = useTableRows(tab, computed, model, highlight);

  const titles = hasBreakouts(model) ? { ...TITLES, cables: "Cables and legs" } : TITLES;
  const query = (search.q ?? "").trim();
  const count = counts[tab];
  const lit = selected[tab];
  const rows = useMemo(() => rowsWith(lit ?? range(count), columns, query), [lit, count, query, columns]);

  const sort = sorts[tab] ?? null;
  const onSort = (next: SortBy | null) =>
    setSearch({ sort: writeSorts({ ...sorts, [tab]: next ?? undefined }) });
  const activate = (row: number) => {
    if (tab === "cables") select({ kind: "cable", ids: [row] });
    else if (tab !== "bom") select({ kind: "rack", ids: [row] });
  };
  const csv = () => csvOfRows(columns, rows, sort);
  const filtered = rows.length !== count;
  return (
    <section className={styles.panel} aria-label="Tables">
      <div className={styles.bar}>
        <Tabs
          label="Tables"
          panelId="plan-table"
          value={tab}
          onChange={(next) => setSearch({ tab: next === "cables" ? undefined : next })}
          items={TABS.map((id) => ({
            id,
            label: titles[id],
            detail:
              id === tab
                ? formatShare(rows.length, count)
                : selected[id]
                  ? formatShare(selected[id].length, counts[id])
                  : formatCount(counts[id]),
          }))}
        />
        <span className={styles.space} />
        {selection && highlight && (
          <Button small icon="close" title="Clear the selection" onClick={() => select(null)}>
            <span className={styles.chipKind}>{selection.kind} = </span>
            {highlight.label}
          </Button>
        )}
        <TableTools
          tab={tab}
          words={search.q}
          onWords={(q) => setSearch({ q })}
          count={rows.length}
          filtered={filtered}
          csv={csv}
        />
      </div>
      <div id="plan-table" role="tabpanel" aria-label={titles[tab]} className={styles.body}>
        <DataTable
          key={tab}
          label={`${titles[tab]}, ${formatShare(rows.length, count)}`}
          columns={columns}
          rows={rows}
          sort={sort}
          onSort={onSort}
          isSelected={(row) =>
            selection !== null &&
            ((tab === "cables" && selection.kind === "cable") ||
              (tab !== "cables" && tab !== "bom" && selection.kind === "rack")) &&
            selection.ids.includes(row)
          }
          onActivate={activate}
          empty={query ? `No results for “${search.q}”` : "The selection has no rows in this table."}
        />
      </div>
    </section>
  );
}

/** Filtering, copying and saving the rows that are shown. */
function TableTools({
  tab,
  words,
  onWords,
  count,
  filtered,
  csv,
}: {
  tab: Tab;
  words: string | undefined;
  onWords: (words: string | undefined) => void;
  count: number;
  filtered: boolean;
  csv: () => string;
}) {
  return (
    <>
      <TextInput
        className={styles.filter}
        type="search"
        aria-label={`Filter ${TITLES[tab]}`}
        placeholder="Filter"
        value={words ?? ""}
        onChange={(event) => onWords(event.target.value || undefined)}
      />
      <Button
        small
        look="quiet"
        icon="copy"
        onClick={async () => {
          const done = await copyText(csv().replaceAll("\r\n", "\n"));
          toast(
            done ? `Copied ${formatCount(count)} rows as CSV` : "The browser blocked access to the clipboard",
            done ? "info" : "error",
          );
        }}
      >
        <span className={styles.word}>Copy</span>
      </Button>
      <Button
        small
        look="quiet"
        icon="export"
        onClick={() => saveFile(csv(), `${tab}${filtered ? "-filtered" : ""}.csv`)}
      >
        <span className={styles.word}>CSV</span>
      </Button>
    </>
  );
}
