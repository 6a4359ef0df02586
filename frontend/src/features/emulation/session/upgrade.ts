/** An upgrade at a time: which of its steps are done, and which cables are not plugged in yet. */
import { type Network, nodeName } from "./network";
import type { Session } from "./session";

export interface UpgradeStep {
  switch: string;
  cables: readonly string[];
  /** When it was carried out; null before. */
  doneAt: number | null;
}

type Told = Pick<Session, "upgrades">;

/** The work order of a run's upgrade, step by step; none of a run without one. */
export function upgradeStepsAt(network: Network, { upgrades }: Told, at: number): UpgradeStep[] {
  const rowOf = new Map(network.frame.links.id.map((id, row) => [id, row]));
  return (network.frame.upgrade?.steps ?? []).map((step, index) => ({
    switch: step.switch,
    cables: step.links.flatMap((id) => {
      const row = rowOf.get(id);
      return row === undefined
        ? []
        : [`${nodeName(network, network.a[row]!)}/${nodeName(network, network.b[row]!)}`];
    }),
    doneAt: upgrades.find((one) => one.step === index + 1 && one.at_secs <= at)?.at_secs ?? null,
  }));
}

/** What is not plugged in, as if it had been pulled. */
export const unpluggedAt = (network: Network, told: Told, at: number) =>
  upgradeStepsAt(network, told, at)
    .filter(({ doneAt }) => doneAt === null)
    .map(({ cables }) => ({ kind: "cable-pulled", targets: cables }));
