import { useRef } from "react";
import type { Finding } from "@/api/types";
import { Field, NumberInput, Section, Select, TextInput } from "@/ui/form";
import { Icon } from "@/ui/icon";
import { EXAMPLES } from "../shared/examples";
import { canonical, type Json, type PlanSpec, setIn, type TopologySpec } from "../shared/spec";
import {
  bcubeGroups,
  type Family,
  listText,
  type Parameter,
  parseList,
  withBcubeSize,
  withGroups,
} from "./families";
import styles from "./params.module.css";
import { usePlan } from "./store";
import { TopologyIcon } from "./topology-icon";

/** Short names for the cards; the full title is the tooltip. */
const SHORT: Record<string, string> = {
  bcube: "BCube",
  dcell: "DCell",
  torus3d: "CamCube",
  subways: "Subways",
  fat_tree: "Fat-tree",
  tree: "Tree",
};

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
  // What was set up for each family lately, so that looking at another one loses nothing.
  const remembered = useRef(new Map<string, TopologySpec>());
  remembered.current.set(spec.topology.family, spec.topology);

  const choose = (next: Family) => {
    if (next.family === spec.topology.family) return;
    const topology =
      remembered.current.get(next.family) ??
      EXAMPLES.find((example) => example.spec.topology.family === next.family)?.spec.topology ??
      next.example;
    replace({ ...spec, topology }, "family");
  };
  const move = (by: number) => {
    const at = families.findIndex((f) => f.family === spec.topology.family);
    const next = families[(at + by + families.length) % families.length];
    if (next) choose(next);
  };

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
        <div
          className={styles.cards}
          role="radiogroup"
          aria-label="Topology family"
          onKeyDown={(event) => {
            const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
            if (!by) return;
            event.preventDefault();
            move(by);
            requestAnimationFrame(() =>
              document.querySelector<HTMLElement>("[data-family][aria-checked=true]")?.focus(),
            );
          }}
        >
          {families.map((f) => {
            const chosen = f.family === spec.topology.family;
            return (
              // biome-ignore lint/a11y/useSemanticElements: a card with a drawing, not a dot
              <button
                key={f.family}
                type="button"
                role="radio"
                data-family={f.family}
                aria-checked={chosen}
                tabIndex={chosen ? 0 : -1}
                className={styles.card}
                title={f.title}
                onClick={() => choose(f)}
              >
                <TopologyIcon family={f.family} />
                {SHORT[f.family] ?? f.title}
              </button>
            );
          })}
        </div>
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

function ParameterField({
  parameter,
  value,
  resolved,
  finding,
  onChange,
}: {
  parameter: Parameter;
  value: Json | undefined;
  resolved: Json | undefined;
  finding: Finding | undefined;
  onChange: (value: Json | undefined) => void;
}) {
  const fallback = resolved ?? parameter.default;
  const title = [parameter.doc, parameter.default_doc && `Left out: ${parameter.default_doc}`]
    .filter(Boolean)
    .join(" ");
  const message = finding && (finding.hint ? `${finding.message} ${finding.hint}` : finding.message);
  const letter = parameter.letter && parameter.letter !== parameter.title ? parameter.letter : undefined;
  return (
    <Field
      label={parameter.title}
      letter={letter}
      title={title}
      chosen={!parameter.required && value !== undefined}
      message={message}
      severity={finding?.severity === "warning" ? "warning" : "error"}
      controlWidth={parameter.kind === "enum" ? 140 : undefined}
    >
      {({ id, describedBy }) => {
        if (parameter.kind === "enum")
          return (
            <Select
              id={id}
              aria-describedby={describedBy}
              value={String(value ?? fallback ?? "")}
              options={(parameter.choices ?? []).map((c) => ({ value: String(c.value), label: c.title }))}
              onChange={(next) => onChange(Number(next))}
            />
          );
        if (parameter.list || parameter.kind === "list")
          return (
            <TextInput
              id={id}
              aria-describedby={describedBy}
              key={listText(value)}
              defaultValue={listText(value)}
              placeholder={listText(fallback) || "default"}
              aria-invalid={finding?.severity === "error" || undefined}
              onBlur={(event) => {
                const parsed = parseList(event.target.value);
                if (parsed !== null) onChange(parsed);
              }}
              onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
            />
          );
        return (
          <NumberInput
            id={id}
            describedBy={describedBy}
            integer={parameter.kind === "integer"}
            min={parameter.min}
            max={parameter.max}
            unit={parameter.unit && parameter.unit.length <= 4 ? parameter.unit : null}
            optional={!parameter.required}
            placeholder={fallback === undefined || fallback === null ? "all" : String(fallback)}
            value={typeof value === "number" ? value : null}
            invalid={finding?.severity === "error"}
            onChange={(next) => onChange(next ?? undefined)}
          />
        );
      }}
    </Field>
  );
}
