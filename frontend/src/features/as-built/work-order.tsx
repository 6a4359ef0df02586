import { useMemo, useState } from "react";
import type { AsBuilt, AsBuiltStep, Plan } from "@/api/types";
import { Button } from "@/ui/button";
import { formatCount, plural } from "@/units";
import { saveFile } from "@/units/save-file";
import styles from "./as-built.module.css";
import { byRack, orderCsv, type RackSteps } from "./order";
import { ShowLink } from "./show-link";

/** Steps of a rack that are in the document at a time. */
const STEPS = 100;

/** The steps that make the cabling on the floor match the plan, by rack. */
export function WorkOrder({ plan, result }: { plan: Plan; result: AsBuilt }) {
  const { work } = result;
  const racks = useMemo(() => byRack(work.steps), [work]);
  if (work.steps.length === 0) return null;
  return (
    <section aria-labelledby="as-built-order">
      <div className={styles.sectionHead}>
        <h2 id="as-built-order">Work order</h2>
        <Button
          icon="export"
          onClick={() => saveFile(orderCsv(work.steps), `repair-${plan.id}-r${plan.revision}.csv`)}
        >
          CSV
        </Button>
      </div>
      <p className={styles.muted}>
        {`${plural(work.steps.length, "step")}, ${plural(work.operations, "plug operation")}, ${plural(work.new_cables, "new cable")}: `}
        the fewest plug operations, and of those the fewest steps. In the order of the numbers no step needs a
        port that is taken; racks may be worked on at the same time if each step waits for the one that it
        names.
      </p>
      {racks.map((rack, index) => (
        <Rack key={rack.rack} plan={plan} rack={rack} open={index === 0} />
      ))}
    </section>
  );
}

function Rack({ plan, rack: { rack, steps }, open }: { plan: Plan; rack: RackSteps; open: boolean }) {
  const [isOpen, setOpen] = useState(open);
  const [count, setCount] = useState(STEPS);
  return (
    <details className={styles.rack} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{rack ? `Rack ${rack}` : "Outside the plan’s racks"}</strong>{" "}
        <span>{plural(steps.length, "step")}</span>
      </summary>
      {isOpen && (
        <>
          <ol>
            {steps.slice(0, count).map((step) => (
              <Step key={step.number} plan={plan} step={step} />
            ))}
          </ol>
          {count < steps.length && (
            <Button onClick={() => setCount(count + STEPS)}>
              Show {Math.min(STEPS, steps.length - count)} more of {formatCount(steps.length)}
            </Button>
          )}
        </>
      )}
    </details>
  );
}

function Step({ plan, step }: { plan: Plan; step: AsBuiltStep }) {
  return (
    <li value={step.number}>
      <span>
        {step.text}
        {step.after !== null && <span className={styles.after}> After step {step.after}.</span>}
      </span>
      {step.name && (
        <ShowLink plan={plan} cable={step.name} className={styles.touch}>
          {step.name}
        </ShowLink>
      )}
    </li>
  );
}
