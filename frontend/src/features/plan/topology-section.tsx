import type { Finding } from "@/api/types";
import { Field, NumberInput, Section, Select } from "@/ui/form";
import { Icon } from "@/ui/icon";
import { canonical, type Json, type PlanSpec, setIn } from "../shared/spec";
import { bcubeGroups, type Family, type Parameter, withBcubeSize, withGroups } from "./families";
import { FamilyCards } from "./family-cards";
import { ParameterField } from "./parameter-field";
import styles from "./params.module.css";
import { usePlan } from "./store";

/** Which network it is, and its parameters. */
export function TopologySection({
  families,
  spec,
  findings,
  resolved,
}: {
  families: Family[];
  spec: PlanSpec;
  findings: Finding[];
  /** The computed plan's spec with every default, for placeholders. */
  resolved: PlanSpec | undefined;
}) {
  const replace = usePlan((state) => state.replace);
  const change = usePlan((state) => state.change);
  const family = families.find((f) => f.family === spec.topology.family);
  const setParameter = (parameter: Parameter, value: Json | undefined) => {
    if (
      spec.topology.family === "bcube" &&
      (parameter.name === "n" || parameter.name === "k") &&
      typeof value === "number"
    ) {
      const next = withBcubeSize(spec.topology, parameter.name, value);
      if (canonical(next) !== canonical({ ...spec.topology, [parameter.name]: value })) {
        usePlan.getState().replaceField(setIn(spec, "topology", next), `topology.${parameter.name}`);
        return;
      }
    }
    change(`topology.${parameter.name}`, value);
  };
  const required = family?.parameters.filter((p) => p.required) ?? [];
  const optional = family?.parameters.filter((p) => !p.required) ?? [];
  const main = [...required, ...optional.filter((p) => p.name === "servers")];
  const more = optional.filter((p) => p.name !== "servers");
  const groups = spec.topology.family === "bcube" ? bcubeGroups(spec.topology) : null;
  const presetAt = family?.presets.findIndex((p) => canonical(p.spec) === canonical(spec.topology)) ?? -1;

  const field = (parameter: Parameter) => (
    <ParameterField
      key={parameter.name}
      parameter={parameter}
      value={spec.topology[parameter.name]}
      resolved={
        resolved?.topology.family === spec.topology.family ? resolved.topology[parameter.name] : undefined
      }
      finding={findings.find((f) => f.severity !== "info" && f.where === `topology.${parameter.name}`)}
      onChange={(value) => setParameter(parameter, value)}
    />
  );
  return (
    <>
      <Section title="Topology">
        <FamilyCards families={families} spec={spec} />
        {family && (
          <p className={styles.doc}>
            {family.summary} <cite style={{ fontStyle: "normal" }}>{family.source}</cite>
          </p>
        )}
      </Section>
      {family && (
        <Section title="Parameters">
          {family.presets.length > 1 && (
            <Field label="Size" controlWidth={140} title="Sizes from the papers">
              {({ id }) => (
                <Select
                  id={id}
                  value={String(presetAt)}
                  options={[
                    ...(presetAt < 0 ? [{ value: "-1", label: "Custom" }] : []),
                    ...family.presets.map((p, at) => ({ value: String(at), label: p.title })),
                  ]}
                  onChange={(value) => {
                    const preset = family.presets[Number(value)];
                    if (preset) replace({ ...spec, topology: preset.spec }, "preset");
                  }}
                />
              )}
            </Field>
          )}
          {main.filter((p) => p.name !== "servers").map(field)}
          {groups && groups.of <= 64 && (
            <Field
              label="Top-level groups"
              title={`Whole groups of ${groups.groupServers} servers, out of ${groups.of} [bcube §5.1]`}
            >
              {({ id }) => (
                <NumberInput
                  id={id}
                  integer
                  min={1}
                  max={groups.of}
                  value={groups.groups}
                  unit={`/ ${groups.of}`}
                  onChange={(value) =>
                    value !== null &&
                    value >= 1 &&
                    usePlan
                      .getState()
                      .replaceField(
                        setIn(spec, "topology", withGroups(spec.topology, value)),
                        "topology.groups",
                      )
                  }
                />
              )}
            </Field>
          )}
          {main.filter((p) => p.name === "servers").map(field)}
          {more.length > 0 && (
            <details
              className={styles.more}
              open={more.some((p) => spec.topology[p.name] !== undefined && p.kind !== "list")}
            >
              <summary>
                <Icon name="chevron" size={12} />
                {more.length} more
              </summary>
              {more.map(field)}
            </details>
          )}
        </Section>
      )}
    </>
  );
}
