import type { ReactNode } from "react";
import answer from "@/shared/answers/answer-page.module.css";
import { ColumnHeads } from "@/ui/column-heads";
import { cx } from "@/ui/cx";
import { BasisBadge } from "@/ui/marks";
import { formatNumber, formatPercent, formatShort } from "@/units";
import styles from "./life.module.css";
import type { UnitKind } from "./question";
import type { Below, LifeDocument, LivedPolicy } from "./use-life";

const last = (values: readonly number[]) => values.at(-1) ?? 0;

export function LifeTables({ document }: { document: LifeDocument }) {
  return (
    <>
      <Interpolated document={document} />
      <Policies document={document} />
      <Used document={document} />
    </>
  );
}

/** Which values of ABT are computed, and how far the others were off where it could be seen. */
function Interpolated({ document: { throughput } }: { document: LifeDocument }) {
  const n = (value: number) => formatNumber(value);
  return (
    <p className={answer.note}>
      {throughput.interpolated
        ? `ABT was computed for ${n(throughput.computed)} of ${n(throughput.states)} states of the network and is interpolated between them; lives scatter around the curve as these states do. Left out one tenth at a time, computed states were off by ${formatPercent(throughput.error_mean ?? 0)} of the whole network's ABT in the mean and ${formatPercent(throughput.error_max ?? 0)} at most.`
        : `ABT was computed for all ${n(throughput.states)} states of the network.`}{" "}
      Servers are exact.
    </p>
  );
}

function Policies({ document }: { document: LifeDocument }) {
  const { book, years, policies, floors } = document;
  const money = (value: number) => formatNumber(Math.round(value));
  const rows: [string, (policy: LivedPolicy) => ReactNode][] = [
    [`Servers after ${formatShort(years, 1)} years`, ({ curves }) => band(curves.connected)],
    ["ABT then (Gb/s)", ({ curves }) => band(curves.abt_gbps!)],
    [`Below ${formatPercent(floors.servers)} of servers`, ({ below }) => fallen(below.servers)],
    [`Below ${formatPercent(floors.abt)} of ABT`, ({ below }) => fallen(below.abt)],
    ["Server-years", ({ server_years }) => formatNumber(Math.round(server_years))],
    ["Visits", ({ visits }) => formatNumber(visits, 1)],
    ["Swaps", ({ swaps }) => counts(swaps)],
    ["Found without a spare", ({ wanting }) => counts(wanting)],
    [
      `Parts, work and visits (${book.currency})`,
      ({ cost }) => `${cost.at_least ? "≥ " : ""}${money(cost.total)}`,
    ],
    [
      `Cost of a server-year gained (${book.currency})`,
      ({ buys }) => (buys?.cost_per_server_year == null ? "–" : money(buys.cost_per_server_year)),
    ],
  ];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={answer.scroll} aria-label="What repairs buy" tabIndex={0}>
      <table className={cx(answer.table, styles.table)}>
        <caption>What repairs buy: medians with 5 to 95 % of seeds, means of swaps and costs</caption>
        <ColumnHeads columns={[{ title: "Result", hidden: true }, ...policies.map(({ title }) => title)]} />
        <tbody>
          {rows.map(([title, value]) => (
            <tr key={title}>
              <th scope="row">{title}</th>
              {policies.map((policy, at) => (
                <td key={at}>{value(policy)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const band = ({ p5, median, p95 }: { p5: number[]; median: number[]; p95: number[] }) =>
  `${formatNumber(Math.round(last(median)))} (${formatNumber(Math.round(last(p5)))}–${formatNumber(Math.round(last(p95)))})`;

const fallen = ({ probability, months }: Below) =>
  probability === 0
    ? "never"
    : `${formatPercent(probability)} of lives${months.median === null ? "" : `, half by month ${months.median}`}`;

const COUNTED: Record<UnitKind, string> = {
  server: "servers",
  switch: "switches",
  cable: "cables",
  pdu: "PDUs",
};

const counts = (by: Record<string, number>) =>
  Object.entries(by)
    .filter(([, count]) => count >= 0.05)
    .map(([unit, count]) => `${formatNumber(count, 1)} ${COUNTED[unit as UnitKind]}`)
    .join(", ") || "–";

function Used({ document }: { document: LifeDocument }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={answer.scroll} aria-label="Failure rates used" tabIndex={0}>
      <table className={cx(answer.table, styles.table)}>
        <caption>Failure rates used: the share of new parts that fail in their first year</caption>
        <ColumnHeads
          columns={["Part", "In the plan", "A year", "Basis", { title: "Source", className: styles.wide }]}
        />
        <tbody>
          {document.rates.map((rate) => (
            <tr key={rate.part}>
              <th scope="row">{rate.title}</th>
              <td>{formatNumber(rate.count)}</td>
              <td>{formatPercent(rate.afr, 2)}</td>
              <td>
                <BasisBadge basis={rate.basis} /> {rate.confidence}
              </td>
              <td className={styles.wide} title={rate.note}>
                {rate.source}
                {rate.date && `, ${rate.date}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
