/**
 * The upgrade of the plan while packets flow: a choice of plans with work orders, and the start
 * time. [subways §4.3]
 */
import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import { isObject, type JsonObject } from "@/shared/plans/spec";
import { Field, NumberInput, Select } from "@/ui/form";
import { plural } from "@/units";
import type { Draft } from "./draft";
import styles from "./emulation-section.module.css";
import { emulationOf, withEmulation } from "./engine";
import { type Messages, messageAt } from "./messages";
import { specOf } from "./use-profile";

type Option = components["schemas"]["UpgradeOption"];
type Work = Option["steps"][number];

const NONE = "none";

export default function UpgradeField({
  draft,
  messages,
  onChange,
}: {
  draft: Draft;
  messages: Messages;
  onChange: (draft: Draft) => void;
}) {
  const { plan } = draft;
  const { upgrade } = emulationOf(draft);
  const to = isObject(upgrade) && isObject(upgrade.to) ? upgrade.to : null;
  const { data } = useQuery({
    queryKey: ["upgrades", plan, to],
    queryFn: async ({ signal }) => {
      const spec = await specOf(plan, signal);
      return take(api.POST("/api/v1/emulation/upgrades", { body: { spec, to }, signal }));
    },
    placeholderData: (before) => before,
    // A saved plan keeps its id when its spec changes.
    staleTime: 10_000,
    retry: false,
  });
  const upgrades = data?.upgrades ?? [];
  const chosen = to && upgrades.find((upgrade) => sameTopology(upgrade.to, to));
  const reasons = upgrades.filter(({ name, reason }) => reason !== null && name !== "other");
  const none = upgrades.length > 0 && upgrades.every(({ reason }) => reason !== null);
  return (
    <>
      <Field
        label="Upgrade"
        title="The plan becomes another one while packets flow, by the planner's work order."
        controlWidth={260}
        message={messageAt(messages, "emulation.upgrade.to") ?? messageAt(messages, "emulation.upgrade")}
      >
        {({ id, describedBy }) => (
          <Select
            id={id}
            aria-describedby={describedBy}
            value={chosen?.name ?? NONE}
            disabled={none && !to}
            options={[
              { value: NONE, label: "none" },
              ...upgrades.map(({ name, title, reason }) => ({
                value: name,
                label: title,
                disabled: reason !== null,
              })),
            ]}
            onChange={(name) => {
              const match = upgrades.find((upgrade) => upgrade.name === name);
              onChange(
                withEmulation(
                  draft,
                  "upgrade",
                  match?.to ? { ...kept(upgrade), to: match.to as JsonObject } : undefined,
                ),
              );
            }}
          />
        )}
      </Field>
      {to && (
        <Field
          label="Upgrade at"
          controlWidth={120}
          message={messageAt(messages, "emulation.upgrade.at_secs")}
        >
          {({ id, describedBy }) => (
            <NumberInput
              id={id}
              describedBy={describedBy}
              value={isObject(upgrade) && typeof upgrade.at_secs === "number" ? upgrade.at_secs : null}
              onChange={(typed) => onChange(withEmulation(draft, "upgrade.at_secs", typed ?? undefined))}
              optional
              min={0}
              max={3600}
              unit="s"
              placeholder="by a button"
            />
          )}
        </Field>
      )}
      {chosen && chosen.steps.length > 0 && <WorkOrder steps={chosen.steps} />}
      {reasons.length > 0 && (
        <ul className={styles.reasons}>
          {none ? (
            <li>{reasons[0]!.reason}</li>
          ) : (
            reasons.map(({ name, title, reason }) => (
              <li key={name}>
                {title}: {reason}
              </li>
            ))
          )}
        </ul>
      )}
    </>
  );
}

function WorkOrder({ steps }: { steps: readonly Work[] }) {
  return (
    <details className={styles.fine} open={steps.length <= 8}>
      <summary>Work order: {plural(steps.length, "switch", "switches")}, one after another</summary>
      <ol className={styles.work} data-testid="work-order">
        {steps.map((step) => (
          <li key={step.switch}>
            <strong>{step.switch}</strong> {workText(step)}
          </li>
        ))}
      </ol>
    </details>
  );
}

/** The work at a switch, in words. */
export const workText = ({ plug_in, take_out, faster, gbps }: Work): string =>
  [
    take_out.length > 0 && `take out ${take_out.join(", ")}`,
    plug_in.length > 0 && `plug in ${plug_in.join(", ")}`,
    faster.length > 0 && `${gbps.join(" and ")} Gb/s for ${faster.join(", ")}`,
  ]
    .filter(Boolean)
    .join("; ");

/** The start time is kept when another upgrade is chosen. */
const kept = (upgrade: unknown): JsonObject => (isObject(upgrade) ? upgrade : {});

const sameTopology = (a: unknown, b: JsonObject): boolean =>
  isObject(a) &&
  Object.keys({ ...a, ...b }).every((name) => JSON.stringify(a[name]) === JSON.stringify(b[name]));
