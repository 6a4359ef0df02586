import { breakoutText, cableLabel, placeName, portName } from "@/shared/plans/names";
import { CopyButton } from "@/ui/clipboard";
import { Swatch } from "@/ui/marks";
import { formatMillimetres, formatMoney, levelShortLabel } from "@/units";
import { priceFinder } from "../tables/cable-table";
import common from "./common.module.css";
import { type InspectorProps, Rows, To } from "./inspector-parts";

/** A cable: both its ends, its length and its labels. */
export function CableView({ model, bom, cable, select }: InspectorProps & { cable: number }) {
  const { cables, devices } = model;
  const document = model.cablesDocument;
  const end = (device: number, port: number) => (
    <To onClick={() => select({ kind: "device", ids: [device] })}>
      {placeName(model, device)} · {devices.hosts[device]} · {portName(model, device, port)}
    </To>
  );
  const level = cables.level[cable]!;
  const breakout = breakoutText(model, cable);
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
          ...(breakout ? [["Breakout", breakout] satisfies [string, string]] : []),
          ["Route", document?.routes[cables.route[cable]!] ?? "–"],
          ["Routed length", formatMillimetres(cables.lengthMm[cable])],
          ["Order length", formatMillimetres(cables.stockMm[cable])],
          ["Part", document ? (model.scene.parts[document.columns.part[cable]!]?.sku ?? "–") : "–"],
          ["Colour", document?.colours[document.columns.colour[cable]!] ?? "–"],
          ["Unit price", formatMoney(priceFinder(model, bom)(cable), bom.currency)],
        ]}
      />
      <p className={common.muted}>Labels, near end and far end</p>
      <code className={common.label}>{cableLabel(model, cable)}</code>
      <code className={common.label}>{cableLabel(model, cable, true)}</code>
      <div className={common.actions}>
        <CopyButton text={`${cableLabel(model, cable)}\n${cableLabel(model, cable, true)}`}>
          Copy labels
        </CopyButton>
      </div>
    </>
  );
}
