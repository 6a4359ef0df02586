import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react";
import { cx } from "./cx";
import { Icon } from "./icon";
import styles from "./table.module.css";
import { orderRows, type SortBy, type SortKey } from "./table-order";

export interface Column {
  id: string;
  title: string;
  /** Minimum width in px; columns share the remaining space. */
  width: number;
  align?: "start" | "end";
  mono?: boolean;
  /** The cell as text, which is shown unless `render` is given, and is copied and exported. */
  text: (row: number) => string;
  sort?: (row: number) => SortKey;
  render?: (row: number) => ReactNode;
}

export interface DataTableProps {
  label: string;
  columns: Column[];
  /** Which rows, as indices the columns understand, in their natural order. */
  rows: readonly number[];
  sort: SortBy | null;
  onSort: (sort: SortBy | null) => void;
  isSelected?: (row: number) => boolean;
  /** A click or Enter on a row. */
  onActivate?: (row: number) => void;
  onHover?: (row: number | null) => void;
  empty: ReactNode;
}

const ROW_PX = 26;
const PAGE_ROWS = 12;

/**
 * A table of any length: only the rows in sight are in the document. One tab stop; arrows, Page
 * Up/Down, Home and End move, Enter or Space activates, Ctrl/Cmd-C copies the row as tab-separated
 * text.
 */
export function DataTable(props: DataTableProps) {
  const { label, columns, rows, sort, onSort, isSelected, onActivate, onHover, empty } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const id = useId();
  const [active, setActive] = useState(0);

  const ordered = useMemo(() => {
    const column = sort && columns.find((c) => c.id === sort.column);
    if (!column) return rows;
    return orderRows(rows, column.sort ?? column.text, sort.descending);
  }, [rows, columns, sort]);

  const virtual = useVirtualizer({
    count: ordered.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
    scrollPaddingStart: 28,
  });

  // A new set of rows starts at its top, or at the row that is selected.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of rows or their order moves the view
  useEffect(() => {
    const selected = isSelected ? ordered.findIndex((row) => isSelected(row)) : -1;
    setActive(Math.max(0, selected));
    if (ordered.length > 0) virtual.scrollToIndex(Math.max(0, selected), { align: "auto" });
  }, [ordered]);

  const onKeyDown = useRowKeys({
    ordered,
    active,
    setActive,
    scrollTo: (index) => virtual.scrollToIndex(index, { align: "auto" }),
    columns,
    onActivate,
  });
  const minWidth = columns.reduce((sum, column) => sum + column.width, 0);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a virtual table cannot be a <table>: most rows are not in the document
    <div
      ref={scroll}
      className={styles.scroll}
      role="grid"
      aria-label={label}
      aria-rowcount={ordered.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={ordered.length > 0 ? `${id}-${active}` : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <HeadRow columns={columns} sort={sort} onSort={onSort} minWidth={minWidth} />
      {ordered.length === 0 && <div className={styles.none}>{empty}</div>}
      {/* biome-ignore lint/a11y/useSemanticElements: see above */}
      <div className={styles.body} role="rowgroup" style={{ height: virtual.getTotalSize(), minWidth }}>
        {virtual.getVirtualItems().map((item) => {
          const row = ordered[item.index];
          if (row === undefined) return null;
          return (
            <BodyRow
              key={item.index}
              id={`${id}-${item.index}`}
              columns={columns}
              row={row}
              index={item.index}
              start={item.start}
              active={item.index === active}
              selected={isSelected?.(row) ?? false}
              onClick={() => {
                setActive(item.index);
                onActivate?.(row);
              }}
              onHover={onHover}
            />
          );
        })}
      </div>
    </div>
  );
}

/**
 * The titles of the columns. A click sorts by its column, ascending, then descending, then no
 * longer.
 */
function HeadRow({
  columns,
  sort,
  onSort,
  minWidth,
}: Pick<DataTableProps, "columns" | "sort" | "onSort"> & { minWidth: number }) {
  const toggleSort = (column: Column) => {
    if (sort?.column !== column.id) onSort({ column: column.id, descending: false });
    else if (!sort.descending) onSort({ column: column.id, descending: true });
    else onSort(null);
  };

  return (
    // biome-ignore lint/a11y/useSemanticElements: see DataTable
    // biome-ignore lint/a11y/useFocusableInteractive: the grid is the tab stop
    <div className={styles.head} role="row" aria-rowindex={1} style={{ minWidth }}>
      {columns.map((column) => {
        const direction =
          sort?.column === column.id ? (sort.descending ? "descending" : "ascending") : "none";
        return (
          // biome-ignore lint/a11y/useSemanticElements: see above
          <div
            key={column.id}
            role="columnheader"
            aria-sort={direction}
            style={{ ...cellStyle(column), display: "flex" }}
            tabIndex={-1}
          >
            <button
              type="button"
              className={cx(styles.headCell, column.align === "end" && styles.end)}
              style={{ width: "100%" }}
              onClick={() => toggleSort(column)}
            >
              {column.title}
              {direction !== "none" && <Icon name={direction === "ascending" ? "up" : "down"} size={10} />}
            </button>
          </div>
        );
      })}
    </div>
  );
}

function BodyRow({
  id,
  columns,
  row,
  index,
  start,
  active,
  selected,
  onClick,
  onHover,
}: Pick<DataTableProps, "columns" | "onHover"> & {
  id: string;
  row: number;
  /** Place in the table, from 0. */
  index: number;
  /** From the top of the table's body, in px. */
  start: number;
  active: boolean;
  selected: boolean;
  onClick: () => void;
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see DataTable
    // biome-ignore lint/a11y/useFocusableInteractive: the grid is the tab stop
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys
    <div
      id={id}
      className={cx(styles.row, active && styles.active)}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      style={{ transform: `translateY(${start}px)` }}
      onClick={onClick}
      onMouseEnter={onHover && (() => onHover(row))}
      onMouseLeave={onHover && (() => onHover(null))}
    >
      {columns.map((column) => (
        // biome-ignore lint/a11y/useSemanticElements: see above
        // biome-ignore lint/a11y/useFocusableInteractive: the grid is the tab stop
        <div
          key={column.id}
          role="gridcell"
          className={cx(styles.cell, column.align === "end" && styles.end, column.mono && styles.mono)}
          style={cellStyle(column)}
          title={column.render ? undefined : column.text(row)}
        >
          {column.render ? column.render(row) : column.text(row)}
        </div>
      ))}
    </div>
  );
}

// The same share of the width in every row, for any texts, so that columns stay aligned.
const cellStyle = (column: Column) => ({ flex: `${column.width} 0 ${column.width}px`, width: 0 });

/** The keys of the grid, as documented at DataTable. */
function useRowKeys({
  ordered,
  active,
  setActive,
  scrollTo,
  columns,
  onActivate,
}: Pick<DataTableProps, "columns" | "onActivate"> & {
  /** Rows in the order of the table. */
  ordered: readonly number[];
  active: number;
  setActive: (active: number) => void;
  scrollTo: (index: number) => void;
}) {
  const move = (to: number) => {
    const next = Math.max(0, Math.min(ordered.length - 1, to));
    setActive(next);
    scrollTo(next);
  };

  return (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || ordered.length === 0) return;
    const row = ordered[active];
    if (event.key === "ArrowDown") move(active + 1);
    else if (event.key === "ArrowUp") move(active - 1);
    else if (event.key === "PageDown") move(active + PAGE_ROWS);
    else if (event.key === "PageUp") move(active - PAGE_ROWS);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(ordered.length - 1);
    else if ((event.key === "Enter" || event.key === " ") && row !== undefined) onActivate?.(row);
    else if (event.key.toLowerCase() === "c" && (event.ctrlKey || event.metaKey) && row !== undefined) {
      if (getSelection()?.toString()) return;
      void navigator.clipboard?.writeText(columns.map((c) => c.text(row)).join("\t"));
    } else return;
    event.preventDefault();
  };
}
