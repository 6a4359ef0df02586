import { cableLabel, placeName, portName, traceOf } from "@/shared/plans/names";
import { CopyButton } from "@/ui/clipboard";
import { ColumnHeads } from "@/ui/column-heads";
import { Swatch } from "@/ui/marks";
import { cableName, formatCount, formatMillimetres, levelShortLabel } from "@/units";
import common from "./common.module.css";
import styles from "./device-view.module.css";
import { type InspectorProps, Rows, To } from "./inspector-parts";
import { PinForm } from "./pin-form";

/** A server or a switch: where each of its ports goes. */
export function DeviceView({ model, device, select }: InspectorProps & { device: number }) {
  const { devices } = model;
  const part = model.scene.parts[model.scene.devices.part[device]!];
  const level = devices.level[device]!;
  const trace = traceOf(model, device);
  const rack = devices.rack[device]!;
  const text = trace
    .map((row) =>
      [
        row.portName,
        cableName(row.cable),
        placeName(model, row.farDevice),
        devices.hosts[row.farDevice],
        portName(model, row.farDevice, row.farPort),
        cableLabel(model, row.cable, row.fromB),
      ].join("\t"),
    )
    .join("\n");
  return (
    <>
      <Rows
        rows={[
          ["Kind", devices.kind[device] === 1 ? `Switch, ${levelShortLabel(level)}` : "Server"],
          ["Host name", <code key="host">{devices.hosts[device]}</code>],
          ["Part", part?.sku ?? "–"],
          [
            "Location",
            <To key="rack" onClick={() => select({ kind: "rack", ids: [rack] })}>
              {placeName(model, device)}
            </To>,
          ],
          ["Ports cabled", `${formatCount(trace.length)} of ${formatCount(devices.portCount[device])}`],
        ]}
      />
      <table className={styles.ports}>
        <caption className="visually-hidden">Connections by port</caption>
        <ColumnHeads columns={["Port", "Cable", "Far end"]} />
        <tbody>
          {trace.map((row) => (
            <tr key={row.cable}>
              <td>{row.portName}</td>
              <td>
                <To onClick={() => select({ kind: "cable", ids: [row.cable] })}>{cableName(row.cable)}</To>
                <div className={common.muted}>
                  <Swatch colour={`var(--level-${model.cables.level[row.cable]})`} />{" "}
                  {levelShortLabel(model.cables.level[row.cable]!)} ·{" "}
                  {formatMillimetres(model.cables.stockMm[row.cable])}
                </div>
              </td>
              <td>
                <To onClick={() => select({ kind: "device", ids: [row.farDevice] })}>
                  {devices.hosts[row.farDevice]}
                </To>
                <span className={common.label}>{cableLabel(model, row.cable, row.fromB)}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className={common.actions}>
        <CopyButton text={text}>Copy trace</CopyButton>
      </div>
      <PinForm model={model} device={device} rack={rack} />
    </>
  );
}
