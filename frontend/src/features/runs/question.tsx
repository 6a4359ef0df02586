/** The setup of a run in words, and the source of its numbers in one line. */
import { Link } from "@tanstack/react-router";
import type { Experiment, Fault, Run } from "@/api/types";
import block from "@/shared/runs/block.module.css";
import { FAILURE_WORDS, failureAxes, ratioText } from "@/shared/runs/run-points";
import { buttonClass } from "@/ui/button";
import { Section } from "@/ui/form";
import { Icon } from "@/ui/icon";
import { BasisBadge } from "@/ui/marks";
import { formatCount, formatGbps, formatShort, plural } from "@/units";
import styles from "./runs.module.css";
import { settingText } from "./setting-text";

export function provenanceOf(run: Run, experiment: Experiment): string {
  return [
    "modelled",
    `engine ${experiment.engine} ${run.engine_version}`.trim(),
    seedsText(experiment),
    `question ${experiment.content_hash.slice(0, 12)}`,
    `run ${run.id}`,
  ].join(" · ");
}

export function seedsText({ seeds, axes }: Experiment): string {
  const given = axes?.seeds ?? seeds;
  if (typeof given === "number")
    return given === 1 ? `seed ${seeds[0]}` : `seeds ${seeds[0]} to ${seeds[0]! + given - 1}`;
  if (given.length === 1) return `seed ${given[0]}`;
  return `seeds ${given.length > 4 ? `${given[0]} … ${given.at(-1)} (${given.length})` : given.join(", ")}`;
}

function targetText({ target }: Fault): string {
  if ("ratio" in target) return `${ratioText(target.ratio)} of ${FAILURE_WORDS[target.kind]}`;
  if ("selector" in target) return target.selector;
  const shown = target.names.slice(0, 6).join(", ");
  return target.names.length > 6 ? `${shown} and ${plural(target.names.length - 6, "other")}` : shown;
}

export function faultText(fault: Fault): string {
  const from = fault.at_secs ? `from ${formatShort(fault.at_secs)}\u00a0s` : "from the start";
  const until =
    fault.until_secs === null || fault.until_secs === undefined
      ? "permanently"
      : `until ${formatShort(fault.until_secs)}\u00a0s`;
  return `${targetText(fault)}: ${from}, ${until}`;
}

/** The parameters of a workload except its kind, in short form. */
function parametersText(workload: Experiment["workload"]): string {
  return Object.entries(workload)
    .filter(([key, value]) => key !== "kind" && value !== null && value !== undefined)
    .map(([key, value]) => {
      const { label, value: text } = settingText(key, Array.isArray(value) ? `${value.length} given` : value);
      return `${label} ${text}`;
    })
    .join(", ");
}

export function Question({ experiment }: { experiment: Experiment }) {
  const { workload, plan, topologies, axes } = experiment;
  const parameters = parametersText(workload);
  return (
    <aside className={styles.question} aria-label="Setup">
      <Section title="Setup">
        <dl className={styles.facts}>
          <dt>{topologies.length === 1 ? "Plan" : "Plans"}</dt>
          <dd>
            {topologies.map(({ title, servers, links }, at) => (
              <div key={`${at} ${title}`}>
                {title}
                <span className="muted plain">
                  {` ${plural(servers, "server")}, ${plural(links, "link")}`}
                </span>
              </div>
            ))}
          </dd>
          <dt>Traffic</dt>
          <dd>
            {workload.kind.replaceAll("-", " ")}
            {parameters && <span className="muted plain">{` ${parameters}`}</span>}
          </dd>
          <dt>Routing</dt>
          <dd>{experiment.routing ?? "default for each topology"}</dd>
          <dt>Links</dt>
          <dd>{experiment.link_gbps ? formatGbps(experiment.link_gbps) : "as planned"}</dd>
          {experiment.flow_gigabits && (
            <>
              <dt>Flow size</dt>
              <dd>{`${formatShort(experiment.flow_gigabits)}\u00a0Gb`}</dd>
            </>
          )}
          <dt>Faults</dt>
          <dd>
            {experiment.faults.length === 0 && failureAxes(axes).length === 0 && "none"}
            {experiment.faults.map((fault, at) => (
              <div key={at}>{faultText(fault)}</div>
            ))}
            {failureAxes(axes).map(({ kind, ratios }) => (
              <div key={kind}>
                {FAILURE_WORDS[kind]}
                <span className="muted plain">
                  {` ${ratioText(Math.min(...ratios))} to ${ratioText(Math.max(...ratios))}, ${plural(ratios.length, "ratio")}`}
                </span>
              </div>
            ))}
          </dd>
          <dt>Seeds</dt>
          <dd>{seedsText(experiment)}</dd>
          <dt>Points</dt>
          <dd>{formatCount(experiment.points)}</dd>
        </dl>
        <div className={styles.tools}>
          {plan.id && (
            <Link to="/plans/$id" params={{ id: plan.id }} className={buttonClass("plain", true)}>
              Open the plan
            </Link>
          )}
          <Link to="/experiments" search={{ from: experiment.id }} className={buttonClass("plain", true)}>
            <Icon name="edit" size={14} />
            Duplicate
          </Link>
        </div>
        <p className={block.note}>
          <BasisBadge basis="modelled" />{" "}
          {experiment.engine === "packet"
            ? "by the packet engine. Faults begin and end at their times. "
            : "by the flow engine. Faults active at the end of the schedule apply from the start. "}
          All random choices come from the seed.
        </p>
      </Section>
    </aside>
  );
}
