import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, take } from "@/api/client";
import { EXAMPLES } from "@/shared/plans/examples";
import { linkSpec, SAVE_FIRST } from "@/shared/plans/share";
import { canonical, type PlanSpec } from "@/shared/plans/spec";
import { useGuide } from "@/shared/shell/guide/guide-state";
import { Button, IconButton } from "@/ui/button";
import { cx } from "@/ui/cx";
import { toast } from "@/ui/toast";
import { TopologyIcon } from "../parameters/topology-icon";
import { useOpenSpec, useRecentPlans } from "../state/use-plans";
import { openTopologyFile } from "../topology-file/open";
import styles from "./start-strip.module.css";

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
    // It then appears again with the next page.
  }
}

/** For an unsaved plan: starting points and next steps. The plan is drawn below. */
export function StartStrip({ spec }: { spec: PlanSpec }) {
  const [open, setOpen] = useState(() => !hiddenBefore());
  const openSpec = useOpenSpec();
  const recent = useRecentPlans(2);
  const runs = useQuery({
    queryKey: ["runs", "latest"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/runs", { params: { query: { limit: 1 } }, signal })),
    refetchOnMount: "always",
  });
  if (!open) return null;
  const plans = recent.data?.items ?? [];
  const done = runs.data?.items ?? [];
  return (
    <>
      {runs.isSuccess && done.length === 0 && <FirstSteps spec={spec} />}
      <nav className={styles.strip} aria-label="Start from">
        <div className={styles.choices} data-recent={plans.length + done.length > 0 || undefined}>
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
            <li>
              <button
                type="button"
                className={styles.chip}
                title="GraphML, GEXF, DOT, CSV, containerlab or NetBox: drop a file on the page, or choose one"
                onClick={() => openTopologyFile()}
              >
                <TopologyIcon family="custom" />
                Your own…
              </button>
            </li>
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
          {done.length > 0 && (
            <>
              <span className={styles.title}>Last run</span>
              <ul>
                {done.map((run) => (
                  <li key={run.id}>
                    <Link to="/runs/$id" params={{ id: run.id }} className={styles.chip} title={run.title}>
                      <span className={styles.name}>{run.title}</span>
                    </Link>
                  </li>
                ))}
              </ul>
            </>
          )}
        </div>
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
    </>
  );
}

/**
 * The purpose of Cubeyard in four steps, for users who have not run anything yet; and the guide
 * through these steps.
 */
function FirstSteps({ spec }: { spec: PlanSpec }) {
  const navigate = useNavigate();
  const { at, closed, start, close } = useGuide();
  if (at !== null || closed) return null;
  const ask = async (engine?: "emulation") => {
    const code = await linkSpec(spec);
    if (code === null) toast(SAVE_FIRST, "error");
    else await navigate({ to: "/experiments", search: { plan: `z.${code}`, engine } });
  };
  return (
    <div className={styles.first}>
      <ol className={styles.steps} aria-label="First steps">
        <li>
          <b>Plan:</b> change its parameters on the left.
        </li>
        <li>
          <button type="button" className={cx("text-button", styles.step)} onClick={() => void ask()}>
            Predict
          </button>{" "}
          its throughput under failures.
        </li>
        <li>
          <button
            type="button"
            className={cx("text-button", styles.step)}
            onClick={() => void ask("emulation")}
          >
            Emulate
          </button>{" "}
          it with real packets.
        </li>
        <li>
          <b>Pull a cable</b> and watch the flows move.
        </li>
      </ol>
      <Button small onClick={start}>
        Show me how
      </Button>
      <IconButton small icon="close" label="Hide the first steps" onClick={close} />
    </div>
  );
}
