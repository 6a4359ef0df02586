/**
 * The throughput of the plan when a part of it fails, compared with a fat-tree of the same number
 * of servers.
 */
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { PlanModel } from "@/scene/model";
import { linkSpec, SAVE_FIRST } from "@/shared/plans/share";
import { ProblemView } from "@/shared/server/problem";
import { Button } from "@/ui/button";
import { Section, Select } from "@/ui/form";
import { BasisBadge, Skeleton } from "@/ui/marks";
import { toast } from "@/ui/toast";
import { useSettled } from "@/ui/use-settled";
import { formatCount, formatGbps, formatPercent, plural } from "@/units";
import type { Computed } from "../state/preview";
import { Curve } from "./curve";
import styles from "./failures-section.module.css";
import {
  abtAt,
  type FailureKind,
  kindsOf,
  MOST,
  onGrid,
  type Points,
  type Prediction,
  STEP,
  type Value,
} from "./points";
import { type Reference, useFailurePoints, useRackFailure } from "./use-failure-points";

/**
 * The plan must be unchanged for this time before a prediction starts, because the drawing has
 * priority.
 */
const QUIET_MS = 800;
/** The slider must be still for this time before its point is computed. */
const SLIDER_QUIET_MS = 300;
const RACK = "rack";

export function FailuresSection({ computed, model }: { computed: Computed; model: PlanModel }) {
  const settled = useSettled(computed, QUIET_MS);
  const [selected, setChosen] = useState<FailureKind | typeof RACK>("switch");
  const kinds = kindsOf(settled.summary.counts);
  // The kind may belong to the previous family after a change of the plan.
  const chosen =
    selected === RACK || kinds.some(({ value }) => value === selected) ? selected : kinds[0]!.value;
  const { mark, seen } = useSeen();
  return (
    <Section
      title="Under failures"
      aside={
        <Select
          aria-label="What fails"
          value={chosen}
          options={[...kinds, { value: RACK, label: "One rack" }]}
          onChange={(value) => setChosen(value as FailureKind | typeof RACK)}
          width={104}
        />
      }
    >
      <div ref={mark} data-testid="failures">
        {!seen ? (
          <Skeleton height={140} />
        ) : chosen === RACK ? (
          <Rack computed={settled} names={model.racks.names} />
        ) : (
          <Share computed={settled} kind={chosen} />
        )}
        <ToLife spec={settled.spec} />
      </div>
    </Section>
  );
}

/** A link to the simulation of the plan's life. */
function ToLife({ spec }: { spec: Computed["spec"] }) {
  const navigate = useNavigate();
  const go = async () => {
    const code = await linkSpec(spec);
    if (code === null) toast(SAVE_FIRST, "error");
    else await navigate({ to: "/life", search: { plan: `z.${code}` } });
  };
  return (
    <Button small onClick={() => void go()}>
      Failures over five years
    </Button>
  );
}

/** Whether the section was on screen: nothing is computed before that. */
function useSeen() {
  const mark = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!mark.current || seen) return;
    const watch = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
    });
    watch.observe(mark.current);
    return () => watch.disconnect();
  }, [seen]);
  return { mark, seen };
}

function Share({ computed, kind }: { computed: Computed; kind: FailureKind }) {
  const [ratio, setRatio] = useState(0.1);
  const wanted = useSettled(ratio, SLIDER_QUIET_MS);
  const servers = computed.summary.counts.servers;
  const { curves, reference, error } = useFailurePoints(computed.spec, servers, kind, wanted);
  const exact = curves.plan.get(ratio);
  return (
    <>
      <label className={styles.slider}>
        <span className={styles.share}>{formatPercent(ratio)}</span>
        <input
          type="range"
          aria-label="Share that failed"
          aria-valuetext={`${formatPercent(ratio)} failed`}
          min={0}
          max={MOST}
          step={STEP}
          value={ratio}
          onChange={(event) => setRatio(onGrid(Number(event.target.value)))}
        />
      </label>
      {error !== null && error !== undefined ? (
        <ProblemView error={error} />
      ) : (
        <>
          <Curve plan={curves.plan} reference={curves.reference} ratio={ratio} />
          <dl className={styles.rows}>
            <Throughput name="This plan" look={styles.planKey} points={curves.plan} ratio={ratio} />
            <Throughput
              name="Fat-tree"
              title={reference?.title}
              look={styles.referenceKey}
              points={curves.reference}
              ratio={ratio}
            />
          </dl>
          <Losses point={exact} reference={reference} />
        </>
      )}
    </>
  );
}

function Throughput({
  name,
  title,
  look,
  points,
  ratio,
}: {
  name: string;
  title?: string;
  look: string | undefined;
  points: Points;
  ratio: number;
}) {
  const value = abtAt(points, ratio);
  const whole = points.get(0)?.abt_gbps;
  return (
    <div className={styles.row}>
      <dt title={title}>
        <span className={look} aria-hidden="true" /> {name}
      </dt>
      <dd>
        {value ? (
          <>
            <span className={styles.left} title="Relative to the throughput without failures">
              {whole ? formatPercent(value.gbps / whole) : ""}
            </span>
            <span title={value.between ? interpolatedText(value) : "Computed"}>
              {value.between && <abbr title={interpolatedText(value)}>≈</abbr>}
              {formatGbps(value.gbps)}
            </span>
          </>
        ) : (
          <Skeleton height={14} width={72} />
        )}
      </dd>
    </div>
  );
}

const interpolatedText = ({ between }: Value): string =>
  between ? `Interpolated between ${formatPercent(between[0])} and ${formatPercent(between[1])}` : "";

function Rack({ computed, names }: { computed: Computed; names: readonly string[] }) {
  const [rack, setRack] = useState<string | null>(null);
  const shown = rack !== null && names.includes(rack) ? rack : (names[0] ?? null);
  const { data, error } = useRackFailure(computed.spec, shown);
  return (
    <>
      <Select
        aria-label="Which rack"
        value={shown ?? ""}
        options={names.map((name) => ({ value: name, label: name }))}
        onChange={setRack}
        width={104}
      />
      {error ? (
        <ProblemView error={error} />
      ) : (
        <>
          <dl className={styles.rows}>
            <div className={styles.row}>
              <dt>This plan</dt>
              <dd>{data ? formatGbps(data.abt_gbps) : <Skeleton height={14} width={72} />}</dd>
            </div>
          </dl>
          <Losses point={data} />
        </>
      )}
    </>
  );
}

/** The dead and cut-off servers, and the source of the number. */
function Losses({ point, reference }: { point: Prediction | undefined; reference?: Reference }) {
  const failures = point?.failures;
  const message = failures
    ? [
        failures.servers > 0 && plural(failures.servers, "server"),
        failures.switches > 0 && plural(failures.switches, "switch", "switches"),
        failures.links > 0 && plural(failures.links, "link"),
      ].filter(Boolean)
    : [];
  return (
    <p className={styles.note} role="status">
      <span className={styles.losses}>
        {failures === undefined
          ? "Computing…"
          : `${message.length > 0 ? `${message.join(", ")} failed` : "Nothing failed"}; ${cutOffText(point!)}.`}
      </span>
      <BasisBadge basis="modelled" /> aggregate bottleneck throughput, all to all
      {reference &&
        `; fat-tree of ${plural(reference.servers, "server")} on links as fast as a server's port here`}
    </p>
  );
}

const cutOffText = ({ dropped }: Prediction): string =>
  dropped.no_path === 0
    ? "no live server is cut off"
    : `${formatCount(dropped.no_path)} flows between live servers are cut off`;
