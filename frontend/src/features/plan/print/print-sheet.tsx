import { type RefObject, useEffect, useState } from "react";
import { flushSync } from "react-dom";
import type { PlanCanvasHandle } from "@/render/plan-canvas";
import { formatMetres, formatMoney, formatShort } from "@/units";
import { formatDate } from "../../shared/dates";
import type { Computed } from "../state/preview";
import { totalsOf } from "../totals/totals";
import styles from "./print-sheet.module.css";

/** The top of the first printed page, above the drawing: which plan, whose numbers, when. */
export function PrintHead({ computed, name }: { computed: Computed; name: string }) {
  const { summary } = computed;
  return (
    <div className={`print-only ${styles.sheet}`}>
      <h1>{name}</h1>
      <p>
        {summary.title} · plan {summary.plan_hash.slice(0, 12)} · engine {summary.engine_version} · printed{" "}
        {formatDate(new Date())} · modelled
      </p>
      <dl>
        {totalsOf(summary).map((row) => (
          <div key={row.id}>
            <dt>{row.title}</dt>
            <dd>
              {row.atLeast && "at least "}
              {row.format(row.value)}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/**
 * The drawings for paper: vectors in the light theme, made when printing starts, as a canvas is not painted again for it.
 * As images, so that nothing in them is markup of this page.
 */
export function PrintDrawings({ handles }: { handles: readonly RefObject<PlanCanvasHandle | null>[] }) {
  const [pictures, setPictures] = useState<string[]>([]);
  useEffect(() => {
    const make = () => {
      const texts = handles.flatMap(({ current }) => (current ? [current.toSvg()] : []));
      flushSync(() =>
        setPictures(texts.map((text) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`)),
      );
    };
    const forget = () => setPictures([]);
    window.addEventListener("beforeprint", make);
    window.addEventListener("afterprint", forget);
    return () => {
      window.removeEventListener("beforeprint", make);
      window.removeEventListener("afterprint", forget);
    };
  }, [handles]);
  return (
    <div className={`print-only ${styles.drawings}`}>
      {pictures.map((source, at) => (
        <img key={at} src={source} alt={at === 0 ? "The plan" : "Rack elevations"} />
      ))}
    </div>
  );
}

/** Below the drawings: what the engine found, and the whole bill of materials. */
export function PrintSheet({ computed }: { computed: Computed }) {
  const { summary, bom } = computed;
  return (
    <div className={`print-only ${styles.sheet}`}>
      {summary.findings.length > 0 && (
        <>
          <h2>Findings</h2>
          <ul>
            {summary.findings.map((finding) => (
              <li key={`${finding.code} ${finding.where} ${finding.message}`}>
                {finding.severity}: {finding.message} {finding.hint}
              </li>
            ))}
          </ul>
        </>
      )}
      <h2>Bill of materials</h2>
      <table>
        <thead>
          <tr>
            <th>Part</th>
            <th>Length</th>
            <th>Colour</th>
            <th>Quantity</th>
            <th>Spares</th>
            <th>Unit price</th>
            <th>Total</th>
          </tr>
        </thead>
        <tbody>
          {bom.lines.map((line) => (
            <tr key={line.line}>
              <td>
                {line.sku} {line.name}
              </td>
              <td>{line.length_metres === null ? "" : formatMetres(line.length_metres)}</td>
              <td>{line.colour}</td>
              <td>{formatShort(line.quantity, 1)}</td>
              <td>{line.spares ? formatShort(line.spares, 1) : ""}</td>
              <td>
                {line.unit_price_usd === null ? "no price" : formatMoney(line.unit_price_usd, bom.currency)}
              </td>
              <td>{formatMoney(line.total_usd, bom.currency)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
