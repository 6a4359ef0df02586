/**
 * An upgrade at a time: the completed steps, and the links that are not yet in their final state.
 */
import { type Network, nodeName, rateOf } from "./network";
import type { Session } from "./session";

export interface UpgradeStep {
  switch: string;
  /** Cables that are plugged in, by their ends. */
  cables: readonly string[];
  /** The links that are removed. */
  removed: readonly string[];
  /** Those whose ports get faster, and their rates then. */
  faster: readonly string[];
  bitsPerSec: readonly number[];
  /** The time at which it was carried out; null before. */
  doneAt: number | null;
}

type Upgrading = Pick<Session, "upgrades">;

/** The work order of a run's upgrade, step by step; none of a run without one. */
export function upgradeStepsAt(network: Network, { upgrades }: Upgrading, at: number): UpgradeStep[] {
  const { links, upgrade } = network.frame;
  const rowOf = new Map(links.id.map((id, row) => [id, row]));
  const rowsOf = (ids: readonly number[] = []) => ids.flatMap((id) => rowOf.get(id) ?? []);
  const namesOf = (rows: readonly number[]) =>
    rows.map((row) => `${nodeName(network, network.a[row]!)}/${nodeName(network, network.b[row]!)}`);
  return (upgrade?.steps ?? []).map((step, index) => {
    const faster = rowsOf(step.faster);
    const rates = faster.map((row) => rateOf(network, row));
    return {
      switch: step.switch,
      cables: namesOf(rowsOf(step.links)),
      removed: namesOf(rowsOf(step.removed)),
      faster: namesOf(faster),
      bitsPerSec: [...new Set(rates)].sort((a, b) => a - b),
      doneAt:
        upgrades.find((upgrade) => upgrade.step === index + 1 && upgrade.at_secs <= at)?.at_secs ?? null,
    };
  });
}

/**
 * Links that are not plugged in (not yet, or no longer) count as unplugged, and links that are
 * still slow as having a lowered rate.
 */
export const unpluggedAt = (network: Network, session: Upgrading, at: number) =>
  upgradeStepsAt(network, session, at).flatMap(({ doneAt, cables, removed, faster }) =>
    doneAt === null
      ? [
          { kind: "cable-pulled", targets: cables },
          { kind: "link-rate", targets: faster },
        ]
      : [{ kind: "cable-pulled", targets: removed }],
  );
