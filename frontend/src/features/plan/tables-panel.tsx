import { useMemo, useState } from "react";
import type { PlanModel } from "@/scene/model";
import type { Highlight, Selection } from "@/scene/selection";
import { Button } from "@/ui/button";
import { copyText, saveFile } from "@/ui/clipboard";
import { type Column, DataTable } from "@/ui/data-table";
import { TextInput } from "@/ui/form";
import { csvOf, orderRows, type SortBy } from "@/ui/table-order";
import { Tabs } from "@/ui/tabs";
import { toast } from "@/ui/toast";
import { formatCount, formatShare } from "@/units";
import { getIn, type PlanSpec } from "../shared/spec";
import { TABS, type Tab } from "../shared/url-state";
import { bomUse, cableColumns, devicesIn } from "./cable-table";
import { bomColumns, powerColumns, rackColumns } from "./other-tables";
import type { Computed } from "./preview";
import styles from "./tables-panel.module.css";
import { usePlanSearch } from "./use-plan-view";

const TITLES: Record<Tab, string> = { cables: "Cables", bom: "BOM", power: "Power", racks: "Racks" };

const range = (count: number) => Array.from({ length: count }, (_, at) => at);

/** The plan as tables, filtered by the selection and by text: what every canvas shows, for reading and copying. */
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
  const [sorts, setSorts] = useState<Partial<Record<Tab, SortBy | null>>>({});
  const resolved = computed.summary.spec as PlanSpec;

  const racksLit = useMemo(() => {
    if (!highlight) return null;
    const own = highlight.racks.toArray();
    return own.length > 0 ? own : highlight.relatedRacks.toArray();
  }, [highlight]);
  const use = useMemo(() => {
    if (!highlight) return null;
    const devices = highlight.devices.toArray();
    const owned = devices.length > 0 ? devices : devicesIn(model, highlight.racks.toArray());
    return bomUse(model, computed.bom, highlight.cables, owned);
  }, [model, computed.bom, highlight]);

  const columns = useMemo<Column[]>(() => {
    if (tab === "cables") return cableColumns(model, computed.bom);
    if (tab === "bom") return bomColumns(computed.bom, use);
    if (tab === "racks") return rackColumns(model);
    const limit = getIn(resolved, "site.rack_power_limit_watts");
    return powerColumns(model, typeof limit === "number" ? limit : null);
  }, [tab, model, computed.bom, use, resolved]);

  const counts: Record<Tab, number> = {
    cables: model.cables.count,
    bom: computed.bom.lines.length,
    power: model.racks.count,
    racks: model.racks.count,
  };
  const selected = useMemo<Record<Tab, number[] | null>>(
    () => ({
      cables: highlight && [...highlight.cables],
      bom: use && [...use.keys()].sort((a, b) => a - b),
      power: racksLit && [...racksLit],
      racks: racksLit && [...racksLit],
    }),
    [highlight, use, racksLit],
  );

  const query = (search.q ?? "").trim().toLowerCase();
  const count = counts[tab];
  const lit = selected[tab];
  const rows = useMemo(() => {
    const all = lit ?? range(count);
    if (query === "") return all;
    const words = query.split(/\s+/);
    return all.filter((row) => {
      const text = columns
        .map((column) => column.text(row))
        .join(" ")
        .toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }, [lit, count, query, columns]);

  const sort = sorts[tab] ?? null;
  const activate = (row: number) => {
    if (tab === "cables") select({ kind: "cable", ids: [row] });
    else if (tab !== "bom") select({ kind: "rack", ids: [row] });
  };
  const csv = () => {
    const column = sort && columns.find((c) => c.id === sort.column);
    const ordered = column ? orderRows(rows, column.sort ?? column.text, sort.descending) : rows;
    return csvOf(
      columns.map((c) => c.title),
      ordered.map((row) => columns.map((c) => c.text(row))),
    );
  };
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
            label: TITLES[id],
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
        <TextInput
          className={styles.filter}
          type="search"
          aria-label={`Filter ${TITLES[tab]}`}
          placeholder="Filter"
          value={search.q ?? ""}
          onChange={(event) => setSearch({ q: event.target.value || undefined })}
        />
        <Button
          small
          look="quiet"
          icon="copy"
          onClick={async () => {
            const done = await copyText(csv().replaceAll("\r\n", "\n"));
            toast(
              done ? `Copied ${formatCount(rows.length)} rows as CSV` : "The browser refused the clipboard",
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
          onClick={() =>
            saveFile(new Blob([csv()], { type: "text/csv" }), `${tab}${filtered ? "-filtered" : ""}.csv`)
          }
        >
          <span className={styles.word}>CSV</span>
        </Button>
      </div>
      <div id="plan-table" role="tabpanel" aria-label={TITLES[tab]} className={styles.body}>
        <DataTable
          key={tab}
          label={`${TITLES[tab]}, ${formatShare(rows.length, count)}`}
          columns={columns}
          rows={rows}
          sort={sort}
          onSort={(next) => setSorts((old) => ({ ...old, [tab]: next }))}
          isSelected={(row) =>
            selection !== null &&
            ((tab === "cables" && selection.kind === "cable") ||
              (tab !== "cables" && tab !== "bom" && selection.kind === "rack")) &&
            selection.ids.includes(row)
          }
          onActivate={activate}
          empty={query ? `No row holds “${search.q}”.` : "The selection has none of these."}
        />
      </div>
    </section>
  );
}
