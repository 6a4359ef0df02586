/**
 * The flow engine's predictions for the session, in steps over time: they change with each fault
 * and each recovery.
 */
import type { Session } from "./session";

export interface PredictedStep {
  x: number;
  goodput: number;
  abt: number;
}

/** Goodput and ABT in bits per second, headers taken off; the last step lasts until the end. */
export function predictedSteps(
  { network, predicted }: Pick<Session, "network" | "predicted">,
  begin: number,
  end: number,
): PredictedStep[] {
  if (!network) return [];
  const { header_efficiency, predicted: whole } = network.frame;
  const steps: PredictedStep[] = [];
  for (const { at_secs, ideal_bits_per_sec, abt_bits_per_sec } of [
    { at_secs: begin, ...whole },
    ...predicted,
  ]) {
    const step = {
      x: at_secs,
      goodput: ideal_bits_per_sec * header_efficiency,
      abt: abt_bits_per_sec * header_efficiency,
    };
    // Simultaneous changes, such as a stop of all faults, are one step.
    if (steps.at(-1)?.x === at_secs) steps.pop();
    steps.push(step);
  }
  return [...steps, { ...steps.at(-1)!, x: end }];
}

/**
 * The most goodput without a fault, in bits per second, in steps over time: an upgrade raises it
 * with what its steps add.
 */
export function idealSteps(
  session: Pick<Session, "network" | "predicted" | "upgrades">,
  begin: number,
  end: number,
): { x: number; goodput: number }[] {
  const upgradedAt = session.upgrades[0]?.at_secs ?? Number.POSITIVE_INFINITY;
  const first = session.network?.frame;
  let most = first ? first.predicted.ideal_bits_per_sec * first.header_efficiency : 0;
  return predictedSteps(session, begin, end).map(({ x, goodput }) => {
    if (x >= upgradedAt) most = Math.max(most, goodput);
    return { x, goodput: most };
  });
}

const at = <Step extends { x: number }>(
  steps: (begin: number, end: number) => readonly Step[],
  time: number,
): Step | null =>
  steps(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY).findLast(({ x }) => x <= time) ?? null;

/** The prediction at a time. */
export const predictedAt = (session: Session, time: number): PredictedStep | null =>
  at((...range) => predictedSteps(session, ...range), time);

/** The most goodput at a time, in bits per second; null before the network is known. */
export const idealAt = (session: Session, time: number): number | null =>
  at((...range) => idealSteps(session, ...range), time)?.goodput ?? null;

/** The mean over the first `secs` seconds of steps, each of which lasts until the next. */
function meanOf<Step extends { x: number }>(
  steps: readonly Step[],
  value: (step: Step) => number,
  secs: number,
): number {
  const lasts = (index: number) =>
    Math.max(0, Math.min(steps[index + 1]?.x ?? secs, secs) - Math.max(0, steps[index]!.x));
  return steps.reduce((sum, step, index) => sum + value(step) * lasts(index), 0) / secs;
}

/**
 * The predicted means of a whole run of `secs` seconds, and the highest goodput without a fault;
 * null before the network is known.
 */
export function predictedMeans(
  session: Session,
  secs: number,
): { goodput: number; abt: number; ideal: number } | null {
  const steps = predictedSteps(session, 0, secs);
  if (steps.length === 0 || secs <= 0) return null;
  return {
    goodput: meanOf(steps, (step) => step.goodput, secs),
    abt: meanOf(steps, (step) => step.abt, secs),
    ideal: meanOf(idealSteps(session, 0, secs), (step) => step.goodput, secs),
  };
}
