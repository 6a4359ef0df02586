import { useRef } from "react";
import { EXAMPLES } from "@/shared/plans/examples";
import type { PlanSpec, TopologySpec } from "@/shared/plans/spec";
import { useArrows } from "@/ui/tabs";
import { usePlan } from "../state/store";
import type { Family } from "./families";
import styles from "./family-cards.module.css";
import { TopologyIcon } from "./topology-icon";

/** Short names for the cards; the full title is the tooltip. */
const SHORT: Record<string, string> = {
  bcube: "BCube",
  dcell: "DCell",
  torus3d: "CamCube",
  subways: "Subways",
  fat_tree: "Fat-tree",
  tree: "Tree",
  leaf_spine: "Leaf-spine",
  torus2d: "2D torus",
  jellyfish: "Jellyfish",
  dragonfly: "Dragonfly",
  custom: "Your own",
};

/** The families to choose from, as radio buttons with a drawing each. */
export function FamilyCards({ families, spec }: { families: Family[]; spec: PlanSpec }) {
  const replace = usePlan((state) => state.replace);
  // The latest parameters of each family, so that switching families loses nothing.
  const remembered = useRef(new Map<string, TopologySpec>());
  remembered.current.set(spec.topology.family, spec.topology);

  const choose = (next: Family) => {
    if (next.family === spec.topology.family) return;
    const topology =
      remembered.current.get(next.family) ??
      EXAMPLES.find((example) => example.spec.topology.family === next.family)?.spec.topology ??
      next.example;
    replace({ ...spec, topology }, "family");
  };
  const arrows = useArrows(
    families.map(({ family }) => family),
    spec.topology.family,
    (family) => choose(families.find((f) => f.family === family)!),
  );

  return (
    <div {...arrows} className={styles.cards} role="radiogroup" aria-label="Topology family">
      {families.map((f) => {
        const chosen = f.family === spec.topology.family;
        return (
          // biome-ignore lint/a11y/useSemanticElements: a card with a drawing, not a dot
          <button
            key={f.family}
            type="button"
            role="radio"
            data-tab={f.family}
            aria-checked={chosen}
            tabIndex={chosen ? 0 : -1}
            className={styles.card}
            title={f.title}
            onClick={() => choose(f)}
          >
            <TopologyIcon family={f.family} />
            {SHORT[f.family] ?? f.title}
          </button>
        );
      })}
    </div>
  );
}
