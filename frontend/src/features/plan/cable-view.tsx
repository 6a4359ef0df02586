import { CopyButton } from "@/ui/clipboard";
import { Swatch } from "@/ui/marks";
import { formatMillimetres, formatUsd, levelShortLabel } from "@/units";
import { cableLabel, placeName, portName } from "../shared/names";
import { priceFinder } from "./cable-table";
import { type InspectorProps, Rows, To } from "./inspector-parts";
import styles from "./side.module.css";

/** A cable: both its ends, its length and its labels. */
export function CableView({ model, bom, cable, select }: InspectorProps & { cable: number }) {
  const { cables, devices } = model;
  const document = model.cablesDocument;
  const end = (device: number, port: number) => (
    <To onClick={() => select({ kind: "device", ids: [device] })}>
      {placeName(model, device)} · {devices.names[device]} · {portName(model, device, port)}
    </To>
  );
  const level = cables.level[cable]!;
  return (
    <>
      <Rows
        rows={[
          ["A", end(cables.aDevice[cable]!, cables.aPort[cable]!)],
          ["B", end(cables.bDevice[cable]!, cables.bPort[cable]!)],
          [
            "Level",
            <span key="level">
              <Swatch colour={`var(--level-${level})`} /> {levelShortLabel(level)}
            </span>,
          ],
          ["Route", document?.routes[cables.route[cable]!] ?? "–"],
          ["Runs, slack included", formatMillimetres(cables.lengthMm[cable])],
          ["Length to buy", formatMillimetres(cables.stockMm[cable])],
          ["Part", document ? (model.scene.parts[document.columns.part[cable]!]?.sku ?? "–") : "–"],
          ["Colour", document?.colours[document.columns.colour[cable]!] ?? "–"],
          ["Each", formatUsd(priceFinder(model, bom)(cable))],
        ]}
      />
      <p className={styles.muted}>Labels, near end and far end</p>
      <code className={styles.label}>{cableLabel(model, cable)}</code>
      <code className={styles.label}>{cableLabel(model, cable, true)}</code>
      <div className={styles.actions}>
        <CopyButton text={`${cableLabel(model, cable)}\n${cableLabel(model, cable, true)}`}>
          Copy labels
        </CopyButton>
      </div>
    </>
  );
}
