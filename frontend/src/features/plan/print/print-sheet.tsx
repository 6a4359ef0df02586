import { type RefObject, useEffect, useState } from "react";
import { flushSync } from "react-dom";
import type { PlanCanvasHandle } from "@/render/plan-canvas";
import { ColumnHeads } from "@/ui/column-heads";
import { formatMetres, formatMoney, formatShort } from "@/units";
import type { Computed } from "../state/preview";
import styles from "./print-sheet.module.css";

/**
 * The drawings for paper: vectors in the light theme, made when printing starts, because a canvas
 * is not repainted for print. As images, so that nothing in them is markup of this page.
 */
function Drawings({ handles }: { handles: readonly RefObject<PlanCanvasHandle | null>[] }) {
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

/** Below the drawings: the engine's findings, and the complete bill of materials. */
function Sheet({ computed }: { computed: Computed }) {
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
        <ColumnHeads columns={["Part", "Length", "Colour", "Quantity", "Spares", "Unit price", "Total"]} />
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

/** The printed content below the head. */
export default function PrintSheet({
  computed,
  handles,
}: {
  computed: Computed;
  handles: readonly RefObject<PlanCanvasHandle | null>[];
}) {
  return (
    <>
      <Drawings handles={handles} />
      <Sheet computed={computed} />
    </>
  );
}
