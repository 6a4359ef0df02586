import { lazy, Suspense } from "react";
import type { Finding } from "@/api/types";
import { canonical, type Json, type PlanSpec, setIn } from "@/shared/plans/spec";
import { Field, NumberInput, Section, Select } from "@/ui/form";
import { Icon } from "@/ui/icon";
import { usePlan } from "../state/store";
import { bcubeGroups, type Family, type Parameter, withBcubeSize, withGroups } from "./families";
import { FamilyCards } from "./family-cards";
import unfolding from "./more.module.css";
import { ParameterField } from "./parameter-field";
import styles from "./topology-section.module.css";

const CustomSummary = lazy(() => import("../topology-file/custom-summary"));

/** With more groups than this, the field is the number of servers. */
const GROUPS_AT_MOST = 64;

/** The family of the network, and its parameters. */
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
  const family = families.find((f) => f.family === spec.topology.family);
  // Lists of nodes and links come from a file.
  const fields = family?.parameters.filter((p) => p.kind !== "nodes" && p.kind !== "links") ?? [];
  const required = fields.filter((p) => p.required);
  const optional = fields.filter((p) => !p.required);
  const main = [...required, ...optional.filter((p) => p.name === "servers")];
  const more = optional.filter((p) => p.name !== "servers");

  const field = (parameter: Parameter) => (
    <ParameterField
      key={parameter.name}
      parameter={parameter}
      value={spec.topology[parameter.name]}
      resolved={
        resolved?.topology.family === spec.topology.family ? resolved.topology[parameter.name] : undefined
      }
      finding={findings.find((f) => f.severity !== "info" && f.where === `topology.${parameter.name}`)}
      onChange={(value) => setParameter(spec, parameter, value)}
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
        <Section title="Parameters" guide="size">
          <PresetField family={family} spec={spec} />
          {fields.length < family.parameters.length && (
            <Suspense>
              <CustomSummary topology={spec.topology} />
            </Suspense>
          )}
          {main.filter((p) => p.name !== "servers").map(field)}
          <GroupsField spec={spec} />
          {main.filter((p) => p.name === "servers").map(field)}
          {more.length > 0 && (
            <details
              className={unfolding.more}
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

/** Sizes from the papers, if there are several. */
function PresetField({ family, spec }: { family: Family; spec: PlanSpec }) {
  const replace = usePlan((state) => state.replace);
  if (family.presets.length <= 1) return null;
  const presetAt = family.presets.findIndex((p) => canonical(p.spec) === canonical(spec.topology));
  return (
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
  );
}

/** For a BCube: the number of groups at its highest level. */
function GroupsField({ spec }: { spec: PlanSpec }) {
  const groups = spec.topology.family === "bcube" ? bcubeGroups(spec.topology) : null;
  if (!groups || groups.of > GROUPS_AT_MOST) return null;
  return (
    <Field
      label="Top-level groups"
      title={`${groups.of} groups of ${groups.groupServers} servers make the complete network [bcube §5.1]`}
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
              .replaceField(setIn(spec, "topology", withGroups(spec.topology, value)), "topology.groups")
          }
        />
      )}
    </Field>
  );
}

/** Changes one parameter. A change of a BCube's size also changes its number of servers. */
function setParameter(spec: PlanSpec, parameter: Parameter, value: Json | undefined) {
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
  usePlan.getState().change(`topology.${parameter.name}`, value);
}
