/**
 * The frame of every chart: title, the same numbers as a table, files, and the source of the
 * numbers.
 */
import { type ReactNode, useId, useRef, useState } from "react";
import { THEMES, type ThemeName } from "@/units";
import { saveFile } from "@/units/save-file";
import styles from "./chart.module.css";
import { toCsv } from "./csv";
import { standaloneSvg, svgToPng } from "./picture";
import type { ChartColumn } from "./types";
import { useWidth } from "./use-width";

export interface ChartFrameProps {
  title: string;
  theme: ThemeName;
  provenance: string;
  fileName?: string;
  columns: readonly ChartColumn[];
  /** Renders the chart at a width; it must render a single `<svg>`. */
  children: (widthPx: number) => ReactNode;
  legend?: ReactNode;
}

export function ChartFrame(props: ChartFrameProps) {
  const { title, theme, provenance, columns } = props;
  const [table, setTable] = useState(false);
  const [problem, setProblem] = useState("");
  const body = useRef<HTMLDivElement>(null);
  const width = useWidth(body);
  const titleId = useId();
  const tokens = THEMES[theme];
  const name = props.fileName ?? fileNameOf(title);
  const svgText = () => {
    const svg = body.current?.querySelector("svg");
    return svg ? standaloneSvg(svg, title, provenance, theme) : null;
  };
  const save = async (kind: "csv" | "svg" | "png") => {
    try {
      setProblem("");
      if (kind === "csv")
        return saveFile(toCsv(columns, provenance), `${name}.csv`, "text/csv;charset=utf-8");
      const svg = svgText();
      if (svg === null) return;
      if (kind === "svg") saveFile(svg, `${name}.svg`, "image/svg+xml");
      else saveFile(await svgToPng(svg), `${name}.png`);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <figure className={styles.figure} aria-labelledby={titleId} style={{ color: tokens.ink }}>
      <div className={styles.head}>
        <figcaption id={titleId} className={styles.title}>
          {title}
        </figcaption>
        <div className={styles.tools}>
          <button type="button" className={styles.tool} aria-pressed={table} onClick={() => setTable(!table)}>
            Table
          </button>
          {(["csv", "svg", "png"] as const).map((kind) => (
            <button
              key={kind}
              type="button"
              className={styles.tool}
              // A picture needs the chart on screen.
              disabled={table && kind !== "csv"}
              onClick={() => void save(kind)}
              aria-label={`Save ${title} as ${kind.toUpperCase()}`}
            >
              {kind.toUpperCase()}
            </button>
          ))}
        </div>
      </div>
      <div ref={body} className={styles.body}>
        {table ? (
          <ChartTable title={title} columns={columns} />
        ) : (
          <>
            {props.children(width)}
            {props.legend}
          </>
        )}
      </div>
      {problem !== "" && (
        <p role="alert" style={{ color: tokens.bad }}>
          {problem}
        </p>
      )}
      <p className={styles.provenance} style={{ color: tokens.muted }}>
        {provenance}
      </p>
    </figure>
  );
}

function ChartTable({ title, columns }: { title: string; columns: readonly ChartColumn[] }) {
  const rows = Math.max(0, ...columns.map((column) => column.values.length));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={styles.scroll} tabIndex={0} aria-label={`${title}, table`}>
      <table className={styles.table}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.header} scope="col">
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: rows }, (_, row) => (
            <tr key={row}>
              {columns.map((column) => (
                <td key={column.header} data-number={typeof column.values[row] === "number" ? "" : undefined}>
                  {cellText(column, row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function cellText(column: ChartColumn, row: number): string {
  const value = column.values[row];
  if (value === null || value === undefined) return "\u2013";
  if (typeof value === "string") return value;
  return column.format ? column.format(value) : String(value);
}

export function fileNameOf(title: string): string {
  return (
    title
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "") || "chart"
  );
}
