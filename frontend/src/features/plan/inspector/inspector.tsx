import { lazy, Suspense } from "react";
import { Section } from "@/ui/form";
import { CableView } from "./cable-view";
import { DeviceView } from "./device-view";
import styles from "./inspector.module.css";
import { type InspectorProps, Rows } from "./inspector-parts";
import { RackView } from "./rack-view";
import { BundleView, TrayView } from "./tray-views";

const PinnedNotes = lazy(() => import("../notes/pinned-notes"));

/** What is selected, and where each of its cables goes. */
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
  const id = selection.ids[0]!;
  const one = selection.ids.length === 1;
  return (
    <Section title={`Selection · ${highlight.label}`}>
      {one && selection.kind === "rack" && <RackView {...props} rack={id} />}
      {one && selection.kind === "device" && <DeviceView {...props} device={id} />}
      {one && selection.kind === "cable" && <CableView {...props} cable={id} />}
      {one && selection.kind === "tray" && <TrayView {...props} tray={id} />}
      {one && selection.kind === "bundle" && <BundleView {...props} bundle={id} />}
      <Suspense>
        <PinnedNotes model={props.model} selection={selection} />
      </Suspense>
      <Rows rows={[["Cables selected", highlight.summary.replace(" cables", "")]]} />
    </Section>
  );
}
