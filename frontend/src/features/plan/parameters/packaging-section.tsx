import { Section } from "@/ui/form";
import { ChoiceField, NumberOptions, type SpecProps } from "./option-fields";

const POLICIES: [string, string][] = [
  ["auto", "Automatic"],
  ["bcube-5.2", "BCube §5.2"],
  ["locality", "Locality first"],
  ["side-to-side", "Side to side"],
  ["paired-rows", "Paired rows"],
  ["inter-chassis", "Inter-chassis"],
];

/** The assignment of servers and switches to racks. */
export function PackagingSection(props: SpecProps) {
  const subways = props.spec.topology.family === "subways";
  return (
    <Section title="Packaging">
      <ChoiceField option={{ path: "packaging.policy", label: "Policy", choices: POLICIES }} {...props} />
      <NumberOptions
        options={[
          {
            path: "packaging.servers_per_rack",
            label: "Servers per rack",
            integer: true,
            min: 1,
            max: 1000,
            none: "fit",
          },
          {
            path: "packaging.servers_per_unit",
            label: "Servers per U",
            integer: true,
            min: 1,
            max: 16,
            none: "part",
          },
          {
            path: "packaging.switches_per_unit",
            label: "Switches per U",
            integer: true,
            min: 1,
            max: 16,
            none: "part",
          },
          subways && {
            path: "packaging.logical_racks_per_rack",
            label: "Logical racks per rack",
            integer: true,
            min: 1,
            max: 16,
            none: "fit",
          },
        ]}
        {...props}
      />
      <ChoiceField
        option={{
          path: "packaging.face",
          label: "Port side",
          choices: [
            ["front", "Front"],
            ["rear", "Rear"],
          ],
        }}
        {...props}
      />
    </Section>
  );
}
