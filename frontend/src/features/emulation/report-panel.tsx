/** What the session came to: the verdict, before, during and after the faults, and how fast each was noticed and survived. */
import { Icon } from "@/ui/icon";
import { formatBitsPerSec, formatCount, formatPercent, formatShort } from "@/units";
import { faultKind } from "../shared/fault-kinds";
import styles from "./emulation.module.css";
import { FidelityMark } from "./fidelity-mark";
import type { Report, WindowMeans } from "./frames";
import { secsText } from "./series";

const OUTCOMES = {
  held: { icon: "check", text: "The hypothesis held" },
  broken: { icon: "error", text: "The hypothesis broke" },
  none: { icon: "info", text: "No hypothesis" },
} as const;

const WINDOWS = ["before", "during", "after"] as const;

const ROWS: { name: string; of: (means: WindowMeans) => string }[] = [
  { name: "Duration", of: ({ secs }) => secsText(secs) },
  { name: "Goodput", of: (w) => formatBitsPerSec(w.goodput_bits_per_sec) },
  { name: "Least goodput", of: (w) => formatBitsPerSec(w.least_goodput_bits_per_sec) },
  { name: "ABT", of: (w) => formatBitsPerSec(w.abt_bits_per_sec) },
  { name: "Least ABT", of: (w) => formatBitsPerSec(w.least_abt_bits_per_sec) },
  { name: "Stalled flows", of: (w) => formatCount(w.stalled_flows) },
  { name: "Retransmits", of: (w) => formatCount(w.retransmits) },
  { name: "Drops", of: (w) => formatCount(w.drops) },
  { name: "Host CPU", of: (w) => formatPercent(w.cpu) },
];

/** Held or broken, and whether that can be trusted: one line, in sight with the picture. */
export function Verdict({ report }: { report: Report }) {
  const { verdict, fidelity } = report;
  const { icon, text } = OUTCOMES[verdict.outcome];
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
      </p>
      <span className={styles.space} />
      <p className={styles.fidelityLine}>
        <FidelityMark fidelity={fidelity} />
        {fidelity.reason}
      </p>
    </section>
  );
}

/** The windows and the faults as tables. */
export function ReportPanel({ report }: { report: Report }) {
  const { fidelity, windows, faults } = report;
  const shown = WINDOWS.filter((name) => windows[name] !== undefined);
  return (
    <section className={styles.report} aria-label="Report">
      <div className={styles.reportTables}>
        <table className={styles.table}>
          <caption>
            Before, during and after the faults <FidelityMark fidelity={fidelity} />
          </caption>
          <thead>
            <tr>
              <th scope="col">Mean</th>
              {shown.map((name) => (
                <th key={name} scope="col" className={styles.number}>
                  {name}
                </th>
              ))}
              <th scope="col" className={styles.number}>
                in all
              </th>
            </tr>
          </thead>
          <tbody>
            {ROWS.map(({ name, of }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {shown.map((window) => (
                  <td key={window} className={styles.number}>
                    {of(windows[window]!)}
                  </td>
                ))}
                <td className={styles.number}>{of(report.total)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {faults.length > 0 && (
          <table className={styles.table}>
            <caption>
              How each fault was survived <FidelityMark fidelity={fidelity} />
            </caption>
            <thead>
              <tr>
                <th scope="col">Fault</th>
                <th scope="col" className={styles.number}>
                  Noticed after
                </th>
                <th scope="col" className={styles.number}>
                  First flow moved after
                </th>
                <th scope="col" className={styles.number}>
                  Last one
                </th>
                <th scope="col" className={styles.number}>
                  Moves
                </th>
                <th scope="col" className={styles.number}>
                  Goodput back
                </th>
              </tr>
            </thead>
            <tbody>
              {faults.map((fault, at) => (
                <tr key={`${fault.id} ${at}`}>
                  <th scope="row">
                    {fault.id} {faultKind(fault.kind).title}: {fault.targets.slice(0, 3).join(", ")}
                    {fault.targets.length > 3 && " …"}
                  </th>
                  <td className={styles.number}>{delay(fault.detected_secs)}</td>
                  <td className={styles.number}>{delay(fault.first_move_secs)}</td>
                  <td className={styles.number}>{delay(fault.last_move_secs)}</td>
                  <td className={styles.number}>{formatCount(fault.moves)}</td>
                  <td className={styles.number}>
                    {fault.recovered_secs === null ? "not in this run" : secsText(fault.recovered_secs)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
    </section>
  );
}

const delay = (secs: number | null) =>
  secs === null ? "–" : secs < 1 ? `${formatShort(secs * 1000, secs < 0.1 ? 1 : 0)}\u00a0ms` : secsText(secs);
