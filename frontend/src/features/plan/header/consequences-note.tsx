import { useRef, useState } from "react";
import { canonical, type PlanSpec, setIn } from "@/shared/plans/spec";
import { Button, IconButton } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { withServers } from "../parameters/families";
import type { Computed } from "../state/preview";
import { usePlan } from "../state/store";
import { type Consequence, consequences, type Known } from "./consequences";
import styles from "./refused-banner.module.css";

/**
 * The side effects of the latest change, with two ways to undo them: restore the number of servers,
 * or undo the change.
 */
export function ConsequencesNote({ computed, past }: { computed: Computed; past: PlanSpec[] }) {
  const { before, changes } = useConsequences(computed, past);
  const [closed, setClosed] = useState<string | null>(null);
  const { undo, replace } = usePlan.getState();
  const key = canonical(computed.spec);
  if (!before || changes.length === 0 || closed === key) return null;
  const servers = before.summary.counts.servers;
  const kept = changes.some(({ what }) => what === "servers")
    ? withServers(computed.spec.topology, servers)
    : null;
  return (
    <div className={styles.note} role="status">
      <Icon name="info" />
      <span>
        {"This change also made: "}
        {changes.map((item) => `${item.title.toLowerCase()} ${item.before} → ${item.after}`).join("; ")}.
      </span>
      {kept && (
        <Button small onClick={() => replace(setIn(computed.spec, "topology", kept), "keep-servers")}>
          {`Keep ${changes.find(({ what }) => what === "servers")!.before} servers`}
        </Button>
      )}
      <Button small onClick={undo}>
        Undo
      </Button>
      <IconButton icon="close" label="Hide this note" onClick={() => setClosed(key)} />
    </div>
  );
}

/** The side effects relative to the previous spec, if its plan was on the page. */
function useConsequences(
  computed: Computed,
  past: PlanSpec[],
): { before: Known | null; changes: Consequence[] } {
  const known = useRef(new Map<string, Known>());
  known.current.set(canonical(computed.spec), computed);
  const last = past.at(-1);
  const before = (last && known.current.get(canonical(last))) ?? null;
  return { before, changes: before ? consequences(before, computed) : [] };
}
