/** The page's right column: totals against a base, the selected thing, the cost. */
import { lazy, Suspense } from "react";
import type { Summary } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import type { PlanSpec } from "../../shared/spec";
import { Inspector } from "../inspector/inspector";
import { Lines } from "../layout/lines";
import { useBase } from "../state/plan-hooks";
import type { Computed } from "../state/preview";
import type { useSelection } from "../state/use-plan-view";
import { longestCable } from "./totals";
import { MoneySection, TotalsSection } from "./totals-section";

// Both stand below the fold and ask the server: the drawing comes first.
const FailuresSection = lazy(() => import("../failures/failures-section"));
const PathsSection = lazy(() => import("../paths/paths-section"));

export function Figures({
  computed,
  model,
  marked,
  past,
  saved,
  dirty,
}: {
  computed: Computed;
  model: PlanModel;
  marked: ReturnType<typeof useSelection>;
  /** Earlier specs of this session: a base to compare with. */
  past: PlanSpec[];
  saved: Summary | undefined;
  dirty: boolean;
}) {
  const { against, base, choices, setAgainst } = useBase(computed, past, saved, dirty);
  return (
    <>
      <TotalsSection
        summary={computed.summary}
        base={base}
        against={against}
        choices={choices}
        onAgainst={setAgainst}
        onLongest={() => marked.select({ kind: "cable", ids: [longestCable(model)] })}
      />
      <Suspense fallback={<Lines count={8} />}>
        <FailuresSection computed={computed} model={model} />
      </Suspense>
      <Inspector model={model} bom={computed.bom} {...marked} />
      <Suspense>
        <PathsSection computed={computed} model={model} marked={marked} />
      </Suspense>
      <MoneySection summary={computed.summary} bom={computed.bom} />
    </>
  );
}
