/** The page's right column: totals against a base, the selected thing, the cost. */
import { lazy, Suspense, useState } from "react";
import type { Summary } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import type { PlanSpec } from "@/shared/plans/spec";
import { Button } from "@/ui/button";
import { Section } from "@/ui/form";
import { FailuresSection } from "../failures/failures-section";
import { Inspector } from "../inspector/inspector";
import { useBase } from "../state/plan-hooks";
import type { Computed } from "../state/preview";
import { usePlan } from "../state/store";
import { usePlanSearch, type useSelection } from "../state/use-plan-view";
import { longestCable } from "./totals";
import { MoneySection, TotalsSection } from "./totals-section";

const NotesSection = lazy(() => import("../notes/notes-section"));
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
      <FailuresSection computed={computed} model={model} />
      <Inspector model={model} bom={computed.bom} {...marked} />
      <NotesWhereThereMayBe model={model} select={marked.select} />
      <PathsOnDemand computed={computed} model={model} marked={marked} />
      <MoneySection summary={computed.summary} bom={computed.bom} />
    </>
  );
}

/** Loaded for a saved plan, and for a link that brings notes along: a first visit has none. */
function NotesWhereThereMayBe(props: Parameters<typeof NotesSection>[0]) {
  const saved = usePlan((state) => state.saved);
  const [search] = usePlanSearch();
  if (!saved && search.notes === undefined) return null;
  return (
    <Suspense>
      <NotesSection {...props} />
    </Suspense>
  );
}

/** Loaded when the user opens the paths. */
function PathsOnDemand(props: {
  computed: Computed;
  model: PlanModel;
  marked: ReturnType<typeof useSelection>;
}) {
  const [open, setOpen] = useState(false);
  return (
    <Section title="Paths between two servers" guide="paths">
      {open ? (
        <Suspense>
          <PathsSection {...props} />
        </Suspense>
      ) : (
        <Button small onClick={() => setOpen(true)}>
          Show parallel paths
        </Button>
      )}
    </Section>
  );
}
