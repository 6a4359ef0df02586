/**
 * The selected item, with its data and the path of each of its cables. Loaded with the first
 * selection.
 */
import { CableView } from "./cable-view";
import { DeviceView } from "./device-view";
import type { InspectorProps } from "./inspector-parts";
import { RackView } from "./rack-view";
import { BundleView, TrayView } from "./tray-views";

export default function Selected({ selection, ...props }: InspectorProps) {
  if (selection?.ids.length !== 1) return null;
  const id = selection.ids[0]!;
  const shown = { ...props, selection };
  switch (selection.kind) {
    case "rack":
      return <RackView {...shown} rack={id} />;
    case "device":
      return <DeviceView {...shown} device={id} />;
    case "cable":
      return <CableView {...shown} cable={id} />;
    case "tray":
      return <TrayView {...shown} tray={id} />;
    case "bundle":
      return <BundleView {...shown} bundle={id} />;
  }
}
