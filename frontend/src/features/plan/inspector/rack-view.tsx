import { csrSlice } from "@/scene/model";
import { placeName } from "@/shared/plans/names";
import { formatCount, formatKilograms, formatWatts } from "@/units";
import common from "./common.module.css";
import { type InspectorProps, Rows, To } from "./inspector-parts";
import { PinForm } from "./pin-form";

/** A rack: its devices and its loads. */
export function RackView({ model, rack, select }: InspectorProps & { rack: number }) {
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
          ["Port side", racks.facing[rack] ?? "–"],
        ]}
      />
      {devices.length > 0 && (
        <details>
          <summary className={common.muted}>{formatCount(devices.length)} devices</summary>
          <ul>
            {[...devices].map((device) => (
              <li key={device}>
                <To onClick={() => select({ kind: "device", ids: [device] })}>
                  {placeName(model, device)} · {model.devices.hosts[device]} · {model.devices.names[device]}
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
