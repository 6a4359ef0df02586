/**
 * The report of the session: the verdict, values before, during and after the faults, and the
 * detection and recovery times of each.
 */
import type { ReactNode } from "react";
import { faultKind, faultName } from "@/shared/faults/fault-kinds";
import { ColumnHeads } from "@/ui/column-heads";
import { Icon } from "@/ui/icon";
import { formatBitsPerSec, formatCount, formatPercent, formatShort, plural } from "@/units";
import shared from "../common.module.css";
import type { Report, WindowMeans } from "../session/frames";
import { secsText } from "../session/series";
import { FidelityMark } from "./fidelity-mark";
import styles from "./report-panel.module.css";
import { RunAgainFair } from "./run-again-fair";

const OUTCOMES = {
  held: { icon: "check", text: "Hypothesis met" },
  broken: { icon: "error", text: "Hypothesis not met" },
  inconclusive: { icon: "info", text: "Inconclusive" },
  "not-tested": { icon: "warning", text: "Not tested" },
  none: { icon: "info", text: "No hypothesis" },
} as const;

const WINDOWS = ["before", "during", "after"] as const;

const rateOrNone = (bitsPerSec: number | null) => (bitsPerSec === null ? "–" : formatBitsPerSec(bitsPerSec));

const ROWS: { name: string; of: (means: WindowMeans) => string }[] = [
  { name: "Duration", of: ({ secs }) => secsText(secs) },
  { name: "Goodput", of: (w) => formatBitsPerSec(w.goodput_bits_per_sec) },
  { name: "Lowest goodput", of: (w) => rateOrNone(w.least_goodput_bits_per_sec) },
  { name: "ABT", of: (w) => formatBitsPerSec(w.abt_bits_per_sec) },
  { name: "Lowest ABT", of: (w) => rateOrNone(w.least_abt_bits_per_sec) },
  { name: "Stalled flows", of: (w) => formatCount(w.stalled_flows) },
  { name: "Retransmits", of: (w) => formatCount(w.retransmits) },
  {
    name: "Dropped at ends of links",
    of: (w) => (w.queue_drops === undefined ? "–" : formatCount(w.queue_drops)),
  },
  { name: "Dropped by servers", of: (w) => formatCount(w.drops) },
  { name: "Host CPU", of: (w) => formatPercent(w.cpu) },
];

/**
 * Held or broken, and whether that can be trusted, with the evidence: in sight with the picture.
 */
export function Verdict({ report, experiment }: { report: Report; experiment: string | null }) {
  const { verdict, fidelity } = report;
  const { icon, text } = OUTCOMES[verdict.outcome];
  // The sentence of a hypothesis that was not tested names them.
  const missing = verdict.outcome === "not-tested" ? [] : (report.not_injected ?? []);
  const offSchedule =
    verdict.outcome === "none" ? report.faults.filter((fault) => timingOf(fault) !== "") : [];
  return (
    <section
      className={styles.verdict}
      data-outcome={verdict.outcome}
      data-testid="verdict"
      aria-label="Verdict"
    >
      <Icon name={icon} />
      <p>
        <strong>{text}</strong> {verdict.outcome !== "none" && verdict.sentence}
        {missing.map(({ id, kind, targets, reason }) => (
          <span key={id} data-missing={id}>
            {" "}
            {id} ({faultKind(kind).title}: {targets.slice(0, 3).join(", ")}) was not injected: {reason}
          </span>
        ))}
        {offSchedule.map((fault, at) => (
          <span key={`${fault.id} ${at}`} data-off-schedule={fault.id}>
            {" "}
            {fault.id} ({faultKind(fault.kind).title}: {fault.targets.slice(0, 3).join(", ")}){" "}
            {timingOf(fault)}.
          </span>
        ))}
      </p>
      <span className={styles.space} />
      <p className={styles.fidelityLine}>
        <FidelityMark fidelity={fidelity} />
        {fidelity.reason}
      </p>
      <dl className={styles.evidence} aria-label="Evidence">
        {evidenceOf(report).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {fidelity.advice === "fair-queues" && experiment !== null && <RunAgainFair experiment={experiment} />}
    </section>
  );
}

/** The numbers behind the verdict, without unknown ones. */
function evidenceOf({ fidelity }: Report): [string, string][] {
  const share = (value: number | null | undefined) => (value == null ? null : formatPercent(value));
  const goodput = fidelity.achieved_over_ideal;
  const rows: [string, string | null][] = [
    ["Goodput of achievable", share(goodput == null ? null : goodput / fidelity.header_efficiency)],
    ["ABT of prediction", share(fidelity.abt_over_predicted)],
    ["ABT of paths taken", share(fidelity.over_paths?.abt_share)],
    ["Single pair of its link", share(fidelity.calibration?.achieved_over_ideal)],
    ["Host CPU", share(fidelity.cpu)],
    ["by this run", share(fidelity.own_cpu)],
    ["Late ticks", share(fidelity.late_ticks)],
    ["Wait for a processor", fidelity.wait_secs == null ? null : delay(fidelity.wait_secs)],
    ["Lost in the kernel's backlog", fidelity.backlog_drops ? formatCount(fidelity.backlog_drops) : null],
    ["Neighbours dead without a fault", fidelity.deaths === undefined ? null : formatCount(fidelity.deaths)],
  ];
  return rows.filter((row): row is [string, string] => row[1] !== null);
}

/** The windows and the faults as tables. */
export function ReportPanel({
  report,
  scheduled,
  children,
}: {
  report: Report;
  /** Faults that the run had a schedule for. */
  scheduled: number;
  /** Shown before its tables. */
  children?: ReactNode;
}) {
  const { windows, faults } = report;
  const event = faults.length > 0 ? "faults" : report.upgrade ? "upgrade" : null;
  // Without either, the whole run is all there is.
  const shown = event ? WINDOWS.filter((name) => windows[name] !== undefined) : [];
  return (
    <section className={styles.report} aria-label="Report">
      {children}
      {report.upgrade && <p className={styles.note}>{upgradeText(report.upgrade)}</p>}
      {report.images?.map((image, at) => (
        <p key={at} className={styles.note}>
          {imageText(image)}
        </p>
      ))}
      {report.predicted.choices?.map((choice) => (
        <p key={choice} className={styles.note}>
          {choice}
        </p>
      ))}
      <div className={styles.reportTables}>
        <table className={shared.table}>
          <caption>{event ? `Before, during and after the ${event}` : "The whole run"}</caption>
          <ColumnHeads
            columns={[
              "Mean",
              ...shown.map((title) => ({ title, className: shared.number })),
              { title: "whole run", className: shared.number },
            ]}
          />
          <tbody>
            {ROWS.map(({ name, of }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {shown.map((window) => (
                  <td key={window} className={shared.number}>
                    {of(windows[window]!)}
                  </td>
                ))}
                <td className={shared.number}>{of(report.total)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {report.latency_secs && (
          <table className={shared.table}>
            <caption>Latency of requests</caption>
            <tbody>
              {latencyRows(report.latency_secs).map(([name, value]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td className={shared.number}>{value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {faults.length > 0 && <Recovery report={report} scheduled={scheduled} />}
      </div>
    </section>
  );
}

const upgradeText = ({ title, steps, steps_done, connections_lost }: NonNullable<Report["upgrade"]>) =>
  `Upgrade from ${title}: ${steps_done} of ${steps} steps done, ${connections_lost} connections lost.`;

const ENDS_SHOWN = 3;

function imageText({ image, servers, ended }: NonNullable<Report["images"]>[number]) {
  const more = ended.length - ENDS_SHOWN;
  const endings = ended
    .slice(0, ENDS_SHOWN)
    .map(
      ({ server, at_secs, status, message }) =>
        ` On ${server} it ended at ${secsText(at_secs)} with status ${status}${message ? `: ${message}` : ""}.`,
    );
  return `Image ${image} on ${plural(servers.length, "server")}.${endings.join("")}${more > 0 ? ` ${more} more ended.` : ""}`;
}

/** The detection and recovery time of each fault. */
function Recovery({ report, scheduled }: { report: Report; scheduled: number }) {
  const { faults } = report;
  return (
    <table className={shared.table}>
      <caption>Recovery by fault</caption>
      <ColumnHeads
        columns={[
          "Fault",
          { title: "Detected after", className: shared.number },
          { title: "First flow moved after", className: shared.number },
          { title: "Last flow moved", className: shared.number },
          { title: "Moves", className: shared.number },
          { title: "Goodput recovered after", className: shared.number },
        ]}
      />
      <tbody>
        {faults.map((fault, at) => (
          <tr key={`${fault.id} ${at}`}>
            <th scope="row">
              {faultName(fault.id, scheduled)} {faultKind(fault.kind).title}:{" "}
              {fault.targets.slice(0, 3).join(", ")}
              {fault.targets.length > 3 && " …"}
              {timingOf(fault) !== "" && <small data-off-schedule={fault.id}>{timingOf(fault)}</small>}
            </th>
            <td className={shared.number}>
              {fault.already_down ? "it was down already" : delay(fault.detected_secs)}
            </td>
            <td className={shared.number}>{delay(fault.first_move_secs)}</td>
            <td className={shared.number}>{delay(fault.last_move_secs)}</td>
            <td className={shared.number}>{formatCount(fault.moves)}</td>
            <td className={shared.number}>
              {fault.recovered_secs === null ? "not in this run" : secsText(fault.recovered_secs)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** How a fault began or ended otherwise than planned; empty for the rest. */
function timingOf(fault: Report["faults"][number]): string {
  const { late_secs, took_secs, lasted_secs, planned_secs, overran_secs, not_recovered } = fault;
  const parts = [
    late_secs !== undefined && `was injected ${secsText(late_secs)} late`,
    took_secs !== undefined && `took ${secsText(took_secs)} to inject`,
    lasted_secs !== undefined && `lasted ${secsText(lasted_secs)} of ${secsText(planned_secs ?? 0)}`,
    not_recovered !== undefined && `could not be recovered (${not_recovered.replace(/\.$/u, "")})`,
    not_recovered === undefined && overran_secs !== undefined && `ended ${secsText(overran_secs)} late`,
  ];
  return parts.filter((part) => part !== false).join(" and ");
}

type Latencies = NonNullable<Report["latency_secs"]>;

const latencyRows = (latencies: Latencies): [string, string][] => [
  ["Requests", formatCount(latencies.requests)],
  ["Answered", formatCount(latencies.answered)],
  ["Timed out", formatCount(latencies.timed_out)],
  ["Median", delay(latencies.median)],
  ["Mean", delay(latencies.mean)],
  ["99th percentile", delay(latencies.p99)],
  ["99.9th percentile", delay(latencies.p999)],
  ["Longest", delay(latencies.max)],
  ...(latencies.bound === null
    ? []
    : [
        [`Within ${delay(latencies.bound)}`, formatPercent(latencies.within_bound ?? 0, 2)] as [
          string,
          string,
        ],
      ]),
];

const delay = (secs: number | null) =>
  secs === null ? "–" : secs < 1 ? `${formatShort(secs * 1000, secs < 0.1 ? 1 : 0)}\u00a0ms` : secsText(secs);
