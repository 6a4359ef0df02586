import { lazy, Suspense } from "react";
import { Section } from "@/ui/form";
import styles from "./inspector.module.css";
import { type InspectorProps, Rows } from "./inspector-parts";

const PinnedNotes = lazy(() => import("../notes/pinned-notes"));
const Selected = lazy(() => import("./selected"));

/** The selection, and the path of each of its cables. */
export function Inspector(props: InspectorProps) {
  const { selection, highlight } = props;
  if (!selection || !highlight)
    return (
      <Section title="Selection">
        <p className={styles.muted}>
          Select a rack, a device or a cable on the plan or in a table to trace it.
        </p>
      </Section>
    );
  return (
    <Section title={`Selection · ${highlight.label}`}>
      <Suspense>
        <Selected {...props} />
      </Suspense>
      <Suspense>
        <PinnedNotes model={props.model} selection={selection} />
      </Suspense>
      <Rows rows={[["Cables selected", highlight.summary.replace(" cables", "")]]} />
    </Section>
  );
}
