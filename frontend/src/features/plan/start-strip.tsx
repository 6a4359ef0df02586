import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { IconButton } from "@/ui/button";
import { EXAMPLES } from "../shared/examples";
import { canonical, type PlanSpec } from "../shared/spec";
import { useOpenSpec, useRecentPlans } from "./plan-menu";
import styles from "./start-strip.module.css";
import { TopologyIcon } from "./topology-icon";

const KEY = "cubeyard.examples-hidden";

function hiddenBefore(): boolean {
  try {
    return localStorage.getItem(KEY) === "1";
  } catch {
    return false;
  }
}

function rememberHidden() {
  try {
    localStorage.setItem(KEY, "1");
  } catch {
    // It then comes back with the next page.
  }
}

/** For a plan that is not saved: what to start from. The plan below it is drawn already. */
export function StartStrip({ spec }: { spec: PlanSpec }) {
  const [open, setOpen] = useState(() => !hiddenBefore());
  const openSpec = useOpenSpec();
  const recent = useRecentPlans(3);
  if (!open) return null;
  const plans = recent.data?.items ?? [];
  return (
    <nav className={styles.strip} aria-label="Start from">
      <span className={styles.title}>2,048 servers as</span>
      <ul>
        {EXAMPLES.map((example) => {
          const shown = canonical(example.spec.topology) === canonical(spec.topology);
          return (
            <li key={example.slug}>
              <button
                type="button"
                className={styles.chip}
                aria-current={shown || undefined}
                title={`${example.title}: ${example.detail}`}
                onClick={() => void openSpec(example.spec)}
              >
                <TopologyIcon family={example.spec.topology.family} />
                {example.short}
              </button>
            </li>
          );
        })}
      </ul>
      {plans.length > 0 && (
        <>
          <span className={styles.title}>Saved</span>
          <ul>
            {plans.map((plan) => (
              <li key={plan.id}>
                <Link to="/plans/$id" params={{ id: plan.id }} className={styles.chip} title={plan.title}>
                  {plan.name}
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
      <span className={styles.space} />
      <IconButton
        small
        icon="close"
        label="Hide the examples"
        onClick={() => {
          setOpen(false);
          rememberHidden();
        }}
      />
    </nav>
  );
}
