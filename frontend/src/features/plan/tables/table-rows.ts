/** The columns and rows of each table of a plan, filtered by the selection and by text. */
import { useMemo } from "react";
import type { PlanModel } from "@/scene/model";
import type { Highlight } from "@/scene/selection";
import { getIn, type PlanSpec } from "@/shared/plans/spec";
import type { Tab } from "@/shared/plans/url-state";
import type { Column } from "@/ui/data-table";
import { csvOf, orderRows, type SortBy } from "@/ui/table-order";
import type { Computed } from "../state/preview";
import { bomUse, cableColumns, devicesIn } from "./cable-table";
import { bomColumns, powerColumns, rackColumns } from "./other-tables";

/**
 * For each table: its columns if it is open, its number of rows, and the rows of the selection
 * (null: no selection).
 */
export function useTableRows(tab: Tab, computed: Computed, model: PlanModel, highlight: Highlight | null) {
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
  return { columns, counts, selected };
}

/** The rows whose text has each word of the query, in any case. */
export function rowsWith(
  rows: readonly number[],
  columns: readonly Pick<Column, "text">[],
  query: string,
): readonly number[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = columns
      .map((column) => column.text(row))
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The rows as CSV, in the order of the table. */
export function csvOfRows(columns: readonly Column[], rows: readonly number[], sort: SortBy | null): string {
  const column = sort && columns.find((c) => c.id === sort.column);
  const ordered = column ? orderRows(rows, column.sort ?? column.text, sort.descending) : rows;
  return csvOf(
    columns.map((c) => c.title),
    ordered.map((row) => columns.map((c) => c.text(row))),
  );
}
