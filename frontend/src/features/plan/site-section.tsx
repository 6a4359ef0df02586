import type { Part } from "@/api/types";
import { Section } from "@/ui/form";
import { getIn } from "../shared/spec";
import { ChoiceField, NumberOptions, type SpecProps } from "./option-fields";

const ENCLOSURES: [string, string][] = [
  ["auto", "Automatic"],
  ["container-40ft", "40 ft container"],
  ["container-20ft", "20 ft container"],
  ["custom", "Custom container"],
  ["rows", "Open rows"],
];

/** Where the racks stand, and what a rack bears. */
export function SiteSection({ racks, ...props }: SpecProps & { racks: Part[] }) {
  const enclosure = String(getIn(props.spec, "site.enclosure") ?? "auto");
  const custom = enclosure === "custom";
  const rows = enclosure === "rows";
  return (
    <Section title="Site">
      <ChoiceField option={{ path: "site.enclosure", label: "Enclosure", choices: ENCLOSURES }} {...props} />
      <NumberOptions
        options={[
          custom && {
            path: "site.length_metres",
            label: "Length inside",
            unit: "m",
            step: 0.5,
            min: 1,
            max: 1000,
          },
          custom && {
            path: "site.width_metres",
            label: "Width inside",
            unit: "m",
            step: 0.05,
            min: 1,
            max: 1000,
          },
          custom && {
            path: "site.height_metres",
            label: "Height inside",
            unit: "m",
            step: 0.05,
            min: 1,
            max: 50,
          },
          !rows && {
            path: "site.containers",
            label: "Containers",
            integer: true,
            min: 1,
            max: 64,
            none: "1",
          },
          !rows && { path: "site.columns", label: "Rack columns", integer: true, min: 1, max: 4, none: "2" },
          rows && {
            path: "site.racks_per_row",
            label: "Racks per row",
            integer: true,
            min: 1,
            max: 200,
            none: "fit",
          },
          {
            path: "site.aisle_metres",
            label: "Aisle",
            unit: "m",
            step: 0.05,
            min: 0.3,
            max: 10,
            none: "fit",
          },
        ]}
        {...props}
      />
      {racks.length > 0 && (
        <ChoiceField
          option={{
            path: "site.rack",
            label: "Rack",
            choices: [
              ["", "Book's default"],
              ...racks.map((r): [string, string] => [r.sku, r.name || r.sku]),
            ],
          }}
          {...props}
        />
      )}
      <NumberOptions
        options={[
          {
            path: "site.rack_power_limit_watts",
            label: "Rack power limit",
            unit: "W",
            step: 500,
            min: 0,
            none: "none",
          },
          {
            path: "site.rack_weight_limit_kg",
            label: "Rack weight limit",
            unit: "kg",
            step: 50,
            min: 0,
            none: "none",
          },
        ]}
        {...props}
      />
    </Section>
  );
}
