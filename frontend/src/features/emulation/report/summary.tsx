/** The progress of the session and its current numbers. The verdict shows how reliable they are. */
import { isOver } from "@/shared/runs/runs";
import { Icon } from "@/ui/icon";
import { BasisBadge } from "@/ui/marks";
import { formatBitsPerSec, formatPercent } from "@/units";
import type { PhaseFrame, Tick } from "../session/frames";
import { idealAt, predictedAt, predictedMeans } from "../session/predicted";
import { secsText } from "../session/series";
import type { Session } from "../session/session";
import { FidelityMark } from "./fidelity-mark";
import styles from "./summary.module.css";

const STEPS = [
  { id: "deploying", title: "Deploying" },
  { id: "calibrating", title: "Calibrating" },
  { id: "settling", title: "Settling" },
  { id: "measuring", title: "Measuring" },
  { id: "removing", title: "Removing" },
] as const;

const STEP_OF: Record<PhaseFrame["phase"], number> = {
  deploying: 0,
  up: 0,
  calibrating: 1,
  calibrated: 1,
  settling: 2,
  measuring: 3,
  removing: 4,
};

export function Phases({ session }: { session: Session }) {
  const last = session.phases.at(-1);
  const over = session.report !== null || isOver(session.live.state);
  const now = last ? STEP_OF[last.phase] : -1;
  return (
    <ol
      className={styles.phases}
      aria-label="Phases of the session"
      data-guide={over ? undefined : "starting"}
    >
      {STEPS.map(({ id, title }, step) => {
        const state =
          over && now >= 0
            ? step <= now
              ? "done"
              : "left"
            : step < now
              ? "done"
              : step === now
                ? "now"
                : "left";
        return (
          <li key={id} data-state={state} aria-current={state === "now" ? "step" : undefined}>
            {state === "done" ? <Icon name="check" size={12} /> : <span className={styles.dot} />}
            {title}
            {state === "now" &&
              id === "deploying" &&
              last?.phase === "deploying" &&
              ` ${last.servers} servers`}
          </li>
        );
      })}
    </ol>
  );
}

/** From this share of all cores on, the host may be what limits a run. */
const BUSY_CPU = 0.95;
const HOST_CPU = "Host CPU";
const BASELINE = "Single-pair baseline";

/** Mean over the last second: one busy tick is no warning. */
function cpuLately({ history }: Session): number {
  const last = history.slice(-10);
  return last.reduce((sum, { cpu }) => sum + cpu, 0) / Math.max(1, last.length);
}

/**
 * Goodput, ABT and CPU at the shown time; means over the run once it has ended, unless a moment of
 * it is replayed.
 */
function shownNumbers(session: Session, tick: Tick | null, following: boolean) {
  const total = following ? session.report?.total : undefined;
  if (total) {
    const means = predictedMeans(session, total.secs);
    return {
      mean: true,
      goodput: total.goodput_bits_per_sec,
      abt: total.abt_bits_per_sec,
      cpu: total.cpu,
      ideal: means?.ideal ?? null,
      predictedAbt: means?.abt ?? null,
    };
  }
  const measured = tick !== null && tick.at > 0;
  return {
    mean: false,
    goodput: measured ? tick.goodput : null,
    abt: measured ? tick.abt : null,
    cpu: tick?.cpu ?? null,
    ideal: idealAt(session, tick?.at ?? 0),
    predictedAbt: predictedAt(session, tick?.at ?? 0)?.abt ?? null,
  };
}

export function Numbers({
  session,
  tick,
  following,
}: {
  session: Session;
  tick: Tick | null;
  /** Whether the newest moment is shown, not one that is replayed. */
  following: boolean;
}) {
  const { report, network, phases } = session;
  const { mean, goodput, abt, cpu, ideal, predictedAbt } = shownNumbers(session, tick, following);
  const calibrated = phases.find((phase) => phase.phase === "calibrated");
  const fidelity = report?.fidelity ?? null;
  const over = isOver(session.live.state);
  const busy = !over && fidelity === null && cpuLately(session) >= BUSY_CPU;
  const tiles = [
    {
      name: "Goodput",
      value: goodput === null ? "–" : formatBitsPerSec(goodput),
      note:
        goodput === null
          ? ideal
            ? `ideal ${formatBitsPerSec(ideal)}`
            : ""
          : ideal
            ? `${formatPercent(goodput / ideal)} of ideal`
            : "",
    },
    {
      name: "ABT",
      value: abt === null ? "–" : formatBitsPerSec(abt),
      note: predictedAbt === null ? "" : `predicted ${formatBitsPerSec(predictedAbt)}`,
    },
    {
      name: HOST_CPU,
      value: cpu === null ? "–" : formatPercent(cpu),
      note: busy ? "of all cores: may be the limit" : "of all cores",
    },
    {
      name: BASELINE,
      value: calibrated?.phase === "calibrated" ? formatBitsPerSec(calibrated.goodput_bits_per_sec) : "–",
      note:
        calibrated?.phase === "calibrated"
          ? `${formatPercent(calibrated.achieved_over_ideal)} of a link`
          : over
            ? "not calibrated"
            : "not calibrated yet",
    },
  ];
  return (
    <dl className={styles.tiles}>
      {tiles.map(({ name, value, note }) => (
        <div key={name} data-busy={(busy && name === HOST_CPU) || undefined}>
          <dt>{mean && name !== BASELINE ? `${name}, mean` : name}</dt>
          <dd>
            {value} <span className="muted plain">{note}</span>
          </dd>
        </div>
      ))}
      <div>
        <dt>
          Time
          <BasisBadge basis="measured" />
          {!fidelity && <FidelityMark fidelity={null} over={over} />}
        </dt>
        <dd>
          {tick ? secsText(network ? Math.min(tick.at, network.frame.seconds) : tick.at) : "–"}{" "}
          <span className="muted plain">{network ? `of ${secsText(network.frame.seconds)}` : ""}</span>
        </dd>
      </div>
    </dl>
  );
}
