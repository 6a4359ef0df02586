/** The upgrade of a run: its work order step by step, and the button that begins it. */
import { useMutation } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import { Button } from "@/ui/button";
import { Section } from "@/ui/form";
import { formatBitsPerSec } from "@/units/format";
import type { Network } from "../session/network";
import { secsText } from "../session/series";
import type { Session } from "../session/session";
import { type UpgradeStep, upgradeStepsAt } from "../session/upgrade";
import { problemText } from "./break-draft";
import styles from "./upgrade-panel.module.css";

export function UpgradePanel({
  runId,
  session,
  network,
  at,
  flowing,
}: {
  runId: string;
  session: Session;
  network: Network;
  /** Nothing later than this is shown. */
  at: number;
  flowing: boolean;
}) {
  const begin = useMutation({
    mutationFn: () => take(api.POST("/api/v1/runs/{id}/upgrade", { params: { path: { id: runId } } })),
  });
  const { upgrade } = network.frame;
  if (!upgrade) return null;
  const steps = upgradeStepsAt(network, session, at);
  const done = steps.filter(({ doneAt }) => doneAt !== null).length;
  return (
    <Section title={`Upgrade: ${done} of ${steps.length} steps`}>
      <p className="muted plain">{upgrade.title}</p>
      <ol className={styles.steps} data-testid="upgrade-steps">
        {steps.map((step) => (
          <li key={step.switch} data-done={step.doneAt !== null || undefined}>
            <span>
              <strong>{step.switch}</strong> {doneText(step)}
            </span>
            <span className={styles.when}>
              {step.doneAt === null ? "to do" : `done at ${secsText(step.doneAt)}`}
            </span>
          </li>
        ))}
      </ol>
      {flowing && session.upgrades.length === 0 && (
        <Button disabled={begin.isPending || begin.isSuccess} onClick={() => begin.mutate()}>
          {begin.isSuccess ? "Upgrading…" : "Start upgrade"}
        </Button>
      )}
      {begin.error && <p role="alert">{problemText(begin.error)}</p>}
    </Section>
  );
}

const doneText = ({ cables, removed, faster, bitsPerSec }: UpgradeStep): string =>
  [
    removed.length > 0 && `take out ${removed.join(", ")}`,
    cables.length > 0 && `plug in ${cables.join(", ")}`,
    faster.length > 0 && `${bitsPerSec.map(formatBitsPerSec).join(" and ")} for ${faster.join(", ")}`,
  ]
    .filter(Boolean)
    .join("; ");
