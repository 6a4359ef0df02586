/** What the flow engine expects of the session, in steps over time: it changes with each fault and each recovery. */
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
    // What happens at the same moment, such as a stop of all, is one step.
    if (steps.at(-1)?.x === at_secs) steps.pop();
    steps.push(step);
  }
  return [...steps, { ...steps.at(-1)!, x: end }];
}

/** What is expected at a time. */
export function predictedAt(session: Session, at: number): PredictedStep | null {
  const steps = predictedSteps(session, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
  return steps.findLast(({ x }) => x <= at) ?? null;
}
