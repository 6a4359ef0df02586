import { useRef } from "react";
import type { JsonObject } from "@/shared/plans/spec";
import { buttonClass, IconButton } from "@/ui/button";
import { Section } from "@/ui/form";
import { Icon } from "@/ui/icon";
import { Menu, TriggerButton } from "@/ui/overlay";
import { plural } from "@/units";
import { MAX_TOPOLOGIES } from "./draft";
import type { Estimate } from "./estimate";
import styles from "./experiments.module.css";
import { type Messages, messageAt } from "./messages";
import { planKey, type usePlanChoices } from "./use-plans";

/** The plan of the experiment, and further plans to compare. */
export function PlansSection({
  plans,
  choices,
  estimate,
  messages,
  most = MAX_TOPOLOGIES,
  onChange,
}: {
  plans: JsonObject[];
  choices: ReturnType<typeof usePlanChoices>;
  estimate: Estimate | undefined;
  messages: Messages;
  /** Plans that one experiment of this kind may have. */
  most?: number;
  onChange: (plans: JsonObject[]) => void;
}) {
  const chosen = new Set(plans.map(planKey));
  // The estimate of a plan stays valid while the next one is loading.
  const estimates = useRef(new Map<string, Estimate["topologies"][number]>()).current;
  if (estimate?.topologies.length === plans.length)
    plans.forEach((plan, at) => {
      estimates.set(planKey(plan), estimate.topologies[at]!);
    });
  const entries = (act: (plan: JsonObject) => void) =>
    choices.groups
      .map(({ title, choices: list }) => ({
        title,
        entries: list
          .filter(({ key }) => !chosen.has(key))
          .map(({ key, label, hint, plan }) => ({ id: key, label, hint, onAction: () => act(plan) })),
      }))
      .filter((group) => group.entries.length > 0);
  const general = messageAt(messages, "plan") ?? messages.get("axes.topologies");
  return (
    <Section title={plans.length === 1 ? "Plan" : `Plans to compare`}>
      <ul className={styles.plans}>
        {plans.map((plan, at) => {
          const known = estimates.get(planKey(plan));
          const message = messageAt(messages, `axes.topologies.${at}`);
          const name = known?.name ?? choices.nameOf(plan, known?.title);
          return (
            <li key={planKey(plan)}>
              <Menu
                label={`Plan ${at + 1}`}
                trigger={
                  <TriggerButton className={styles.plan} aria-label={`Plan ${at + 1}: ${name}. Change it`}>
                    <span>
                      <strong>{name}</strong>
                      <small>
                        {known
                          ? `${plural(known.servers, "server")}, ${plural(known.links, "link")}`
                          : typeof plan.id === "string"
                            ? "saved"
                            : "spec"}
                      </small>
                    </span>
                    <Icon name="chevron" size={12} />
                  </TriggerButton>
                }
                groups={entries((next) => onChange(plans.map((old, place) => (place === at ? next : old))))}
              />
              {plans.length > 1 && (
                <IconButton
                  small
                  icon="close"
                  label={`Remove ${name}`}
                  onClick={() => onChange(plans.filter((_, place) => place !== at))}
                />
              )}
              {message && <p className={styles.message}>{message}</p>}
            </li>
          );
        })}
      </ul>
      {general && <p className={styles.message}>{general}</p>}
      {plans.length < most && (
        <Menu
          label="Add a plan to compare"
          trigger={
            <TriggerButton className={buttonClass("quiet", true)}>
              <Icon name="plus" size={14} />
              Add a plan to compare
            </TriggerButton>
          }
          groups={entries((plan) => onChange([...plans, plan]))}
        />
      )}
    </Section>
  );
}
