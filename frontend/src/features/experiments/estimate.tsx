import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import type { Fault } from "@/api/types";
import { faultKind } from "@/shared/faults/fault-kinds";
import { canonical } from "@/shared/plans/spec";
import { FAILURE_WORDS } from "@/shared/runs/run-points";
import { aboutText, durationText } from "@/shared/runs/runs";
import { ColumnHeads } from "@/ui/column-heads";
import { BasisBadge } from "@/ui/marks";
import { useSettled } from "@/ui/use-settled";
import { formatCount, formatShort, plural } from "@/units";
import { type Draft, failuresOf, plansOf, seedsOf } from "./draft";
import styles from "./experiments.module.css";

export type Estimate = components["schemas"]["ExperimentEstimate"];

const QUIET_MS = 400;

/**
 * The estimated cost of a run of the draft, and whether the draft is valid: the server returns both
 * in one call.
 */
export function useEstimate(draft: Draft | null) {
  const settled = useSettled(draft, QUIET_MS);
  const query = useQuery({
    queryKey: ["estimate", canonical(settled ?? undefined)],
    enabled: settled !== null,
    queryFn: ({ signal }) =>
      take(api.POST("/api/v1/experiments/estimate", { body: settled as never, signal })),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    retry: false,
  });
  return {
    estimate: query.error ? undefined : query.data,
    error: query.error,
    /** The estimate of the current draft is pending. */
    pending: query.isFetching || settled !== draft,
    retry: query.refetch,
  };
}

export function secsText({ secs }: Estimate): string {
  const { low, expected, high } = secs;
  const about = aboutText(expected);
  if (high === null || high === undefined) return `${about}, at least ${durationText(low)}`;
  if (durationText(low) === durationText(high)) return about;
  return `${about}, at most ${durationText(high)}`;
}

/** The number of points as a product, and the time they take here. */
export function EstimateView({ draft, estimate }: { draft: Draft; estimate: Estimate }) {
  const failures = failuresOf(draft);
  const factors = [
    plural(plansOf(draft).length, "plan"),
    ...(failures.length > 0
      ? [
          failures
            .map(({ kind, ratios }) => `${plural(ratios.length, "failure rate")} of ${FAILURE_WORDS[kind]}`)
            .join(" + "),
        ]
      : []),
    plural(seedsOf(draft).length, "seed"),
  ];
  return (
    <section className={styles.estimate} aria-label="Estimate">
      <p className={styles.big}>
        {plural(estimate.points, "point")}, {secsText(estimate)}
      </p>
      <p className="muted tight">
        {factors.join(" × ")} · {plural(estimate.flows, "flow")} total ·{" "}
        <BasisBadge basis={estimate.basis === "measured" ? "measured" : "modelled"}>
          {estimate.basis === "measured" ? "from times measured on this machine" : "estimated"}
        </BasisBadge>
      </p>
      {estimate.simulation && (
        <p className="muted tight">
          {`${formatShort(estimate.simulation.packet_hops, 2)} packet-hops, ${formatShort(estimate.simulation.bytes / 1e6, 2)}\u00a0MB of payload, at most ${formatShort(estimate.simulation.memory_bytes / 2 ** 20, 1)}\u00a0MiB of memory`}
        </p>
      )}
      <table className={styles.topologies}>
        <caption className="visually-hidden">Estimate for each plan</caption>
        <ColumnHeads
          columns={[
            "Plan",
            { title: "Servers", className: styles.number },
            { title: "Links", className: styles.number },
            { title: "Flows per point", className: styles.number },
            "Routing",
            "Initial failures",
          ]}
        />
        <tbody>
          {estimate.topologies.map(({ name, title, servers, links, flows, routing, failed }, at) => (
            <tr key={at}>
              <th scope="row">{name ? `${name}: ${title}` : title}</th>
              <td className={styles.number}>{formatCount(servers)}</td>
              <td className={styles.number}>{formatCount(links)}</td>
              <td className={styles.number}>{formatCount(flows)}</td>
              <td>{routing}</td>
              <td>{failedText(failed)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <DrawnFaults faults={estimate.drawn_faults ?? []} />
    </section>
  );
}

function failedText(failed: Estimate["topologies"][number]["failed"]): string {
  const { servers, switches, links, degraded_links } = failed;
  const parts = [
    servers > 0 && plural(servers, "server"),
    switches > 0 && plural(switches, "switch", "switches"),
    links > 0 && plural(links, "link"),
    degraded_links > 0 && `${plural(degraded_links, "link")} degraded`,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : "none";
}

/** The random faults as they will be drawn, before the run. */
function DrawnFaults({ faults }: { faults: readonly Fault[] }) {
  if (faults.length === 0) return null;
  return (
    <table className={styles.topologies}>
      <caption className={styles.drawn}>Random faults, as they will be injected</caption>
      <ColumnHeads
        columns={[
          { title: "From", className: styles.number },
          { title: "Until", className: styles.number },
          "Type",
          "Target",
        ]}
      />
      <tbody>
        {faults.map(({ at_secs, until_secs, kind, target }, at) => (
          <tr key={at}>
            <td className={styles.number}>{`${formatShort(at_secs, 2)}\u00a0s`}</td>
            <td className={styles.number}>
              {until_secs == null ? "never" : `${formatShort(until_secs, 2)}\u00a0s`}
            </td>
            <td>{faultKind(kind).title}</td>
            <td>{"names" in target ? target.names.join(", ") : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
