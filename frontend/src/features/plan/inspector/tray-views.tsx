/** Items that contain many cables: a tray of the floor, and a bundle between two racks. */
import { traysOfBundle } from "@/scene/tray-routes";
import { Badge, Swatch } from "@/ui/marks";
import { formatCount, formatMetres, formatPercent, levelShortLabel } from "@/units";
import common from "./common.module.css";
import { type InspectorProps, Rows, To } from "./inspector-parts";

export function TrayView({ model, tray }: InspectorProps & { tray: number }) {
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
      <div className={common.actions}>
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

export function BundleView({ model, bundle, select }: InspectorProps & { bundle: number }) {
  const { bundles, trays } = model.scene;
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
        ["Pull order", formatCount(bundles.pull_order[bundle])],
        [
          "Trays",
          traysOfBundle(model, bundle)
            .map((tray) => trays.name[tray])
            .join(", ") || "none",
        ],
      ]}
    />
  );
}
