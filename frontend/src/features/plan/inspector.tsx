import type { ReactNode } from "react";
import type { Bom } from "@/api/types";
import { csrSlice, type PlanModel } from "@/scene/model";
import type { Highlight, Selection } from "@/scene/selection";
import { CopyButton } from "@/ui/clipboard";
import { Section } from "@/ui/form";
import { Badge, Swatch } from "@/ui/marks";
import {
  cableName,
  formatCount,
  formatKilograms,
  formatMetres,
  formatMillimetres,
  formatPercent,
  formatUsd,
  formatWatts,
  levelShortLabel,
} from "@/units";
import { cableLabel, placeName, portName, traceOf } from "../shared/names";
import { priceFinder } from "./cable-table";
import { PinForm } from "./pin-form";
import styles from "./side.module.css";

interface Props {
  model: PlanModel;
  bom: Bom;
  selection: Selection;
  highlight: Highlight | null;
  select: (selection: Selection) => void;
}

/** What is selected, and where each of its cables goes. */
export function Inspector(props: Props) {
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
      <Rows rows={[["Cables selected", highlight.summary.replace(" cables", "")]]} />
    </Section>
  );
}

function Rows({ rows }: { rows: [title: string, value: ReactNode][] }) {
  return (
    <dl className={styles.rows}>
      {rows.map(([title, value]) => (
        <div key={title} className={styles.row}>
          <dt>{title}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function To({ onClick, children }: { onClick: () => void; children: ReactNode }) {
  return (
    <button type="button" className={styles.link} onClick={onClick}>
      {children}
    </button>
  );
}

function RackView({ model, rack, select }: Props & { rack: number }) {
  const { racks } = model.scene;
  const devices = csrSlice(model.rackDevices, rack);
  return (
    <>
      <Rows
        rows={[
          ["Group", racks.group_label[rack] || "–"],
          [
            "Servers / switches",
            `${formatCount(racks.servers[rack])} / ${formatCount(racks.switches[rack])}`,
          ],
          ["Units used", `${formatCount(racks.units_used[rack])} of ${formatCount(racks.units[rack])}`],
          ["Cables leaving", formatCount(racks.cables_leaving[rack])],
          ["Power", formatWatts(racks.power_watts[rack])],
          ["Weight", formatKilograms(racks.weight_kg[rack])],
          ["Faces", racks.facing[rack] ?? "–"],
        ]}
      />
      {devices.length > 0 && (
        <details>
          <summary className={styles.muted}>{formatCount(devices.length)} devices</summary>
          <ul>
            {[...devices].map((device) => (
              <li key={device}>
                <To onClick={() => select({ kind: "device", ids: [device] })}>
                  {placeName(model, device)} · {model.devices.names[device]}
                </To>
              </li>
            ))}
          </ul>
        </details>
      )}
      <PinForm model={model} rack={rack} />
    </>
  );
}

function DeviceView({ model, device, select }: Props & { device: number }) {
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
        devices.names[row.farDevice],
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
          ["Part", part?.sku ?? "–"],
          [
            "Stands in",
            <To key="rack" onClick={() => select({ kind: "rack", ids: [rack] })}>
              {placeName(model, device)}
            </To>,
          ],
          ["Ports cabled", `${formatCount(trace.length)} of ${formatCount(devices.portCount[device])}`],
        ]}
      />
      <table className={styles.ports}>
        <caption className="visually-hidden">Where each port goes</caption>
        <thead>
          <tr>
            <th scope="col">Port</th>
            <th scope="col">Cable</th>
            <th scope="col">Far end</th>
          </tr>
        </thead>
        <tbody>
          {trace.map((row) => (
            <tr key={row.cable}>
              <td>{row.portName}</td>
              <td>
                <To onClick={() => select({ kind: "cable", ids: [row.cable] })}>{cableName(row.cable)}</To>
                <div className={styles.muted}>
                  <Swatch colour={`var(--level-${model.cables.level[row.cable]})`} />{" "}
                  {levelShortLabel(model.cables.level[row.cable]!)} ·{" "}
                  {formatMillimetres(model.cables.stockMm[row.cable])}
                </div>
              </td>
              <td>
                <To onClick={() => select({ kind: "device", ids: [row.farDevice] })}>
                  {devices.names[row.farDevice]}
                </To>
                <span className={styles.label}>{cableLabel(model, row.cable, row.fromB)}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className={styles.actions}>
        <CopyButton text={text}>Copy trace</CopyButton>
      </div>
      <PinForm model={model} device={device} rack={rack} />
    </>
  );
}

function CableView({ model, bom, cable, select }: Props & { cable: number }) {
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

function TrayView({ model, tray }: Props & { tray: number }) {
  const { trays } = model.scene;
  const byLevel = trays.cables_by_level[tray] ?? [];
  return (
    <>
      <Rows
        rows={[
          ["Kind", trays.kind[tray] ?? "–"],
          ["Cables", formatCount(trays.cables[tray])],
          ["Cross-section", `${formatCount(trays.area_cm2[tray])} cm²`],
          ["Fill", formatPercent(trays.fill[tray])],
        ]}
      />
      <div className={styles.actions}>
        {byLevel.map((count, level) =>
          count > 0 ? (
            <Badge key={level}>
              <Swatch colour={`var(--level-${level})`} /> {levelShortLabel(level)} {formatCount(count)}
            </Badge>
          ) : null,
        )}
      </div>
    </>
  );
}

function BundleView({ model, bundle, select }: Props & { bundle: number }) {
  const { bundles } = model.scene;
  const rack = (index: number) => (
    <To onClick={() => select({ kind: "rack", ids: [index] })}>{model.racks.names[index]}</To>
  );
  return (
    <Rows
      rows={[
        ["From", rack(bundles.rack_a[bundle]!)],
        ["To", rack(bundles.rack_b[bundle]!)],
        ["Cables", formatCount(bundles.cables[bundle])],
        ["Diameter", `${formatCount(bundles.diameter_mm[bundle])} mm`],
        ["Length", formatMetres(bundles.length_metres[bundle])],
        ["Pulled as number", formatCount(bundles.pull_order[bundle])],
      ]}
    />
  );
}
