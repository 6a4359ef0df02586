import type { Finding, Summary } from "@/api/types";
import type { Json } from "@/shared/plans/spec";
import { Button } from "@/ui/button";
import { Section } from "@/ui/form";
import { Icon } from "@/ui/icon";
import { formatCount, formatMetres, plural } from "@/units";
import { usePlan } from "../state/store";
import styles from "./findings-section.module.css";
import unfolding from "./more.module.css";
import { type SiteLimit, siteLimitWords } from "./site-limits";

const ORDER = { error: 0, warning: 1, info: 2 } as const;
const ICON = { error: "error", warning: "warning", info: "info" } as const;

/** The engine's findings about the plan, worst first, with fixes; and the checks that passed. */
export function FindingsSection({
  findings,
  summary,
  onLongest,
}: {
  findings: Finding[];
  summary: Summary | undefined;
  /** Selects the cable with the longest route. */
  onLongest: () => void;
}) {
  const sorted = [...findings].sort((a, b) => ORDER[a.severity] - ORDER[b.severity]);
  const failed = summary?.certificate.checks.filter((check) => !check.passed) ?? [];
  const bad = findings.filter((f) => f.severity !== "info").length + failed.length;
  return (
    <Section title="Checks" aside={<span>{bad > 0 ? plural(bad, "finding") : summary && "All good"}</span>}>
      <ul aria-live="polite">
        {sorted.map((finding) => (
          <li
            key={`${finding.code} ${finding.where} ${finding.message}`}
            className={`${styles.finding} ${styles[finding.severity]}`}
          >
            <Icon name={ICON[finding.severity]} />
            <div>
              <span className="visually-hidden">{finding.severity}: </span>
              {finding.message} {finding.hint && <span className={styles.findingHint}>{finding.hint}</span>}
            </div>
            <Remedies finding={finding} />
          </li>
        ))}
        {summary && (
          <>
            <li className={`${styles.finding} ${styles.pass}`}>
              <Icon name="check" />
              <div>
                {formatCount(summary.counts.servers)} servers in {plural(summary.counts.racks, "rack")},
                longest cable{" "}
                <Button look="link" title="Select this cable" onClick={onLongest}>
                  {formatMetres(summary.longest_route_metres)} routed
                </Button>
                , {formatMetres(summary.longest_cable_metres)} ordered
                {typeof summary.longest_route_limit_metres === "number" &&
                  `, limit ${formatMetres(summary.longest_route_limit_metres)}`}
              </div>
            </li>
            <SiteLimits limits={summary.site_limits ?? []} />
            <li className={`${styles.finding} ${failed.length > 0 ? styles.error : styles.pass}`}>
              <Icon name={failed.length > 0 ? "error" : "check"} />
              <details className={unfolding.more}>
                <summary className={styles.summaryLine}>
                  Wiring certificate:{" "}
                  {failed.length > 0
                    ? `${failed.length} of ${summary.certificate.checks.length} fail`
                    : `${summary.certificate.checks.length} of ${summary.certificate.checks.length} hold`}
                  <Icon name="chevron" size={12} />
                </summary>
                <ul className={styles.checks}>
                  {summary.certificate.checks.map((check) => (
                    <li
                      key={check.name}
                      className={`${styles.finding} ${check.passed ? styles.pass : styles.error}`}
                    >
                      <Icon name={check.passed ? "check" : "error"} size={14} />
                      <div>
                        {check.statement}{" "}
                        <span className={styles.findingHint}>{formatCount(check.checked)} checked</span>
                      </div>
                    </li>
                  ))}
                </ul>
              </details>
            </li>
          </>
        )}
      </ul>
    </Section>
  );
}

/** The actions for a finding: the engine's fix, and accepting it as it is. */
function Remedies({ finding }: { finding: Finding }) {
  const patch = usePlan((state) => state.patch);
  const { fix, accept } = finding;
  const repairs = fix !== null && fix !== undefined;
  if (!repairs && !accept) return null;
  return (
    <div className={styles.fix}>
      {repairs && (
        <Button small icon="wand" onClick={() => patch(fix as Json)}>
          Fix: {fixText(fix as Json)}
        </Button>
      )}
      {accept && (
        <Button
          small
          look="quiet"
          icon="check"
          title="Changes the limit, not the plan; stays listed as accepted"
          onClick={() => patch(accept.patch as Json)}
        >
          {accept.label}
        </Button>
      )}
    </div>
  );
}

/** The limits of the container or room, each with its source. */
function SiteLimits({ limits }: { limits: SiteLimit[] }) {
  if (limits.length === 0) return null;
  const over = limits.filter((limit) => limit.over > 0).length;
  const known = limits.filter((limit) => limit.limit !== null).length;
  return (
    <li className={`${styles.finding} ${over > 0 ? styles.warning : styles.pass}`}>
      <Icon name={over > 0 ? "warning" : "check"} />
      <details className={unfolding.more}>
        <summary className={styles.summaryLine}>
          Container or room:{" "}
          {over > 0 ? `${over} of ${known} limits exceeded` : `${known} of ${known} limits hold`}
          <Icon name="chevron" size={12} />
        </summary>
        <ul className={styles.checks}>
          {limits.map((limit) => {
            const words = siteLimitWords(limit);
            return (
              <li key={limit.quantity} className={`${styles.finding} ${styles[words.look]}`}>
                <Icon name={words.look === "pass" ? "check" : words.look} size={14} />
                <div>
                  {words.text} <span className={styles.findingHint}>{words.stated}</span>
                </div>
              </li>
            );
          })}
        </ul>
      </details>
    </li>
  );
}

/** "servers = 2,048" of a merge patch: its leaves by their last names. */
export function fixText(patch: Json): string {
  const leaves: string[] = [];
  const walk = (value: Json, name: string) => {
    if (value !== null && typeof value === "object" && !Array.isArray(value))
      for (const [key, child] of Object.entries(value)) walk(child, key);
    else if (value === null) leaves.push(`${words(name)}: default`);
    else leaves.push(`${words(name)} ${typeof value === "number" ? formatNumberText(value) : String(value)}`);
  };
  walk(patch, "");
  return leaves.join(", ");
}

const words = (name: string) => name.replace(/_(metres|watts|kg|gbps)$/, "").replaceAll("_", " ");
const formatNumberText = (value: number) =>
  Number.isInteger(value) && Math.abs(value) >= 10_000 ? formatCount(value) : String(value);
