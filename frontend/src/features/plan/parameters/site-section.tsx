import type { Part } from "@/api/types";
import { getIn } from "@/shared/plans/spec";
import { Section } from "@/ui/form";
import {
  ChoiceField,
  type NumberOption,
  NumberOptions,
  type SpecProps,
  TextField,
  type TextOption,
} from "./option-fields";

const ENCLOSURES: [string, string][] = [
  ["auto", "Automatic"],
  ["container-40ft", "40 ft container"],
  ["container-20ft", "20 ft container"],
  ["custom", "Custom container"],
  ["rows", "Open rows"],
];

/** The limits of the container or room with which the plan replaces the catalog's. */
function limitsOf(enclosure: string): (NumberOption | false)[] {
  const where = enclosure === "rows" ? "Room" : "Container";
  const none = "usual";
  const title = "Empty: the limit of the catalog, if it has one";
  return [
    {
      path: "site.power_limit_watts",
      label: `${where} power feed`,
      unit: "W",
      step: 10_000,
      min: 1,
      none,
      title,
    },
    {
      path: "site.cooling_limit_watts",
      label: `${where} cooling`,
      unit: "W",
      step: 10_000,
      min: 1,
      none,
      title,
    },
    enclosure !== "rows" && {
      path: "site.gross_mass_limit_kg",
      label: "Container gross mass limit",
      unit: "kg",
      step: 100,
      min: 1,
      none,
      title,
    },
    {
      path: "site.floor_load_limit_kg_per_m2",
      label: "Floor load limit",
      unit: "kg/m²",
      step: 50,
      min: 1,
      none,
      title,
    },
  ];
}

/** The size of the container or room, and the arrangement of racks in it. */
function sizeOf(enclosure: string): (NumberOption | false)[] {
  const custom = enclosure === "custom";
  const rows = enclosure === "rows";
  return [
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
  ];
}

/** The addresses that exports give to servers and switches. */
const ADDRESSES: TextOption[] = [
  {
    path: "site.addresses.servers",
    label: "Server network",
    maxLength: 18,
    none: "10.0.0.0",
    title: "IPv4 network of the servers in exports (DHCP, DNS, Ansible, lab), such as 10.20.0.0/16",
  },
  {
    path: "site.addresses.switches",
    label: "Switch network",
    maxLength: 18,
    none: "172.16.0.0",
    title: "IPv4 network of the switches in exports, such as 10.21.0.0/16",
  },
  {
    path: "site.addresses.gateway",
    label: "Gateway",
    maxLength: 15,
    none: "none",
    title: "Router in one of the two networks; no device gets its address",
  },
  {
    path: "site.addresses.dns",
    label: "DNS servers",
    maxLength: 140,
    none: "none",
    list: true,
    title: "Addresses of up to 8 DNS servers, separated by commas",
  },
  {
    path: "site.addresses.domain",
    label: "Domain",
    maxLength: 189,
    none: "none",
    title: "DNS domain of the host names, such as dc1.example.org",
  },
];

/** The arrangement of racks, and the limits of a rack and of the container or room. */
export function SiteSection({ racks, ...props }: SpecProps & { racks: Part[] }) {
  const enclosure = String(getIn(props.spec, "site.enclosure") ?? "auto");
  return (
    <Section title="Site">
      <ChoiceField option={{ path: "site.enclosure", label: "Enclosure", choices: ENCLOSURES }} {...props} />
      <TextField
        option={{
          path: "site.host_prefix",
          label: "Host name prefix",
          maxLength: 24,
          none: "none",
          title: "Prefix of every host name: dc-a gives dc-a-h0132",
        }}
        {...props}
      />
      {ADDRESSES.map((option) => (
        <TextField key={option.path} option={option} {...props} />
      ))}
      <ChoiceField
        option={{
          path: "site.paper",
          label: "Paper",
          choices: [
            ["", "A4"],
            ["letter", "Letter"],
          ],
        }}
        {...props}
      />
      <NumberOptions options={sizeOf(enclosure)} {...props} />
      {racks.length > 0 && (
        <ChoiceField
          option={{
            path: "site.rack",
            label: "Rack",
            choices: [
              ["", "Default from catalog"],
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
          ...limitsOf(enclosure),
        ]}
        {...props}
      />
    </Section>
  );
}
