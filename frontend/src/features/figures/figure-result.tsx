/**
 * A figure's result: its curves, our numbers next to the paper's, and our choices where the paper
 * is silent.
 */
import { useMemo } from "react";
import type { Figure, FigureResult } from "@/api/types";
import { LineChart } from "@/charts";
import { ColumnHeads } from "@/ui/column-heads";
import { csvOf } from "@/ui/table-order";
import { useTheme } from "@/ui/theme";
import {
  axesOf,
  axisFormat,
  bandText,
  choicesOf,
  linesOf,
  printedText,
  provenanceText,
  unitText,
  valueText,
} from "./figures";
import styles from "./figures.module.css";
import { VerdictMark } from "./verdict-mark";

export function ResultView({ figure, result }: { figure: Figure; result: FigureResult }) {
  const theme = useTheme((state) => state.name);
  const lines = useMemo(() => linesOf(result), [result]);
  const provenance = provenanceText(figure);
  const choices = choicesOf(result);
  const axes = axesOf(result);
  const expected = result.rows.some((row) => row.predicted_by) ? "Expected" : "Paper";
  return (
    <>
      {lines.length > 0 && (
        <section className={styles.block} aria-label="Chart">
          <LineChart
            title={figure.title}
            theme={theme}
            provenance={provenance}
            fileName={figure.id}
            series={lines}
            xLabel={axes.x}
            yLabel={axes.y}
            xFormat={axisFormat(
              axes.x,
              lines.flatMap(({ points }) => points.map(({ x }) => x)),
            )}
            yFormat={axisFormat(
              axes.y,
              lines.flatMap(({ points }) => points.map(({ y }) => y)),
            )}
            height={300}
          />
        </section>
      )}
      {result.rows.length > 0 && (
        <section className={styles.block} aria-label="Numbers">
          <table className={styles.table}>
            <caption className="visually-hidden">Paper and Cubeyard</caption>
            <ColumnHeads
              columns={[
                "Value",
                { title: expected, className: styles.number },
                { title: "Ours", className: styles.number },
                { title: "Unit", className: styles.unit },
                { title: "Tolerance", className: styles.band },
                { title: "Verdict", className: styles.reasoned },
              ]}
            />
            <tbody>
              {result.rows.map((row, at) => (
                <NumberRow key={at} row={row} />
              ))}
            </tbody>
          </table>
        </section>
      )}
      {choices.length > 0 && (
        <section className={styles.block} aria-labelledby="choices">
          <h2 id="choices">Assumptions where the paper is silent</h2>
          <ul className={styles.choices}>
            {choices.map((choice) => (
              <li key={choice}>{choice}</li>
            ))}
          </ul>
        </section>
      )}
      <p className={styles.provenance}>{provenance}</p>
    </>
  );
}

function NumberRow({ row }: { row: FigureResult["rows"][number] }) {
  return (
    <tr>
      <th scope="row">{row.name}</th>
      <td className={styles.number} data-column={row.predicted_by ? "Prediction" : "Paper"}>
        {row.predicted_by ? (
          <>
            {valueText(row.predicted)}
            <span className="muted plain">{` ${row.predicted_by}`}</span>
          </>
        ) : (
          printedText(row.paper)
        )}
      </td>
      <td className={styles.number} data-column="Ours">
        {valueText(row.ours)}
        {row.deviation && row.deviation > 1e-9 * Math.abs(row.ours ?? 0) ? (
          <span className="muted plain" title="Standard deviation over the seeds">
            {` ± ${valueText(row.deviation, 2)}`}
          </span>
        ) : null}
      </td>
      <td>{unitText(row.unit)}</td>
      <td className={styles.band} data-column="Tolerance">
        {bandText(row.low, row.high)}
      </td>
      <td>
        <VerdictMark verdict={row.verdict} />
        {row.reason && <p className="muted plain">{row.reason}</p>}
      </td>
    </tr>
  );
}

export function rowsCsv(result: FigureResult): string {
  const text = (value: number | null | undefined) =>
    value === null || value === undefined ? "" : String(value);
  return csvOf(
    [
      "Value",
      "Paper",
      "Predicted",
      "Predicted by",
      "Ours",
      "Standard deviation",
      "Unit",
      "Tolerance from",
      "Tolerance to",
      "Verdict",
      "Reason",
    ],
    result.rows.map((row) => [
      row.name,
      text(row.paper),
      text(row.predicted),
      row.predicted_by ?? "",
      text(row.ours),
      text(row.deviation),
      row.unit,
      text(row.low),
      text(row.high),
      row.verdict,
      row.reason ?? "",
    ]),
  );
}
