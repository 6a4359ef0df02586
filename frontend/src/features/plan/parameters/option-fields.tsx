/** Optional fields of a plan's spec, which show their default as a placeholder. */
import { useState } from "react";
import type { Finding } from "@/api/types";
import { getIn, type Json, type PlanSpec } from "@/shared/plans/spec";
import { Field, NumberInput, Select, TextInput } from "@/ui/form";
import { usePlan } from "../state/store";

export interface NumberOption {
  path: string;
  label: string;
  unit?: string;
  integer?: boolean;
  step?: number;
  min?: number;
  max?: number;
  title?: string;
  /** Shown if the plan's default is "the smallest that fits". */
  none?: string;
  /** Shown times 100: a share as a percentage. */
  percent?: boolean;
}

export interface ChoiceOption {
  path: string;
  label: string;
  choices: [value: string, label: string][];
  title?: string;
}

export interface TextOption {
  path: string;
  label: string;
  maxLength: number;
  /** The meaning of an empty field. */
  none: string;
  title?: string;
  /** The field is a list; commas or spaces separate its words. */
  list?: boolean;
}

export interface SpecProps {
  spec: PlanSpec;
  resolved: PlanSpec | undefined;
  findings: Finding[];
}

/** Number fields, one below the other; `false` entries do not apply to this plan. */
export function NumberOptions({
  options,
  ...props
}: SpecProps & { options: readonly (NumberOption | false)[] }) {
  return options
    .filter((option) => option !== false)
    .map((option) => <NumberOptionField key={option.path} {...props} option={option} />);
}

function findingAt(findings: Finding[], path: string) {
  const finding = findings.find(
    (f) => f.severity !== "info" && (f.where === path || f.where.startsWith(`${path}[`)),
  );
  return {
    message: finding && (finding.hint ? `${finding.message} ${finding.hint}` : finding.message),
    severity: finding?.severity === "warning" ? ("warning" as const) : ("error" as const),
  };
}

const times = (value: Json | undefined, by: number) =>
  typeof value === "number" ? Number((value * by).toPrecision(12)) : null;

function NumberOptionField({ option, spec, resolved, findings }: SpecProps & { option: NumberOption }) {
  const change = usePlan((state) => state.change);
  const by = option.percent ? 100 : 1;
  const value = times(getIn(spec, option.path), by);
  const fallback = resolved && times(getIn(resolved, option.path), by);
  const { message, severity } = findingAt(findings, option.path);
  return (
    <Field
      label={option.label}
      title={option.title}
      chosen={value !== null}
      message={message}
      severity={severity}
    >
      {({ id, describedBy }) => (
        <NumberInput
          id={id}
          describedBy={describedBy}
          value={value}
          optional
          integer={option.integer}
          min={option.min}
          max={option.max}
          step={option.step}
          unit={option.unit}
          placeholder={
            fallback === null || fallback === undefined ? (option.none ?? "default") : String(fallback)
          }
          invalid={message !== undefined && severity === "error"}
          onChange={(next) => change(option.path, next === null ? undefined : times(next, 1 / by)!)}
        />
      )}
    </Field>
  );
}

export function ChoiceField({ option, spec, resolved, findings }: SpecProps & { option: ChoiceOption }) {
  const change = usePlan((state) => state.change);
  const own = getIn(spec, option.path);
  const value = String(
    own ??
      (option.choices[0]?.[0] === ""
        ? ""
        : ((resolved && getIn(resolved, option.path)) ?? option.choices[0]?.[0])),
  );
  const { message, severity } = findingAt(findings, option.path);
  return (
    <Field
      label={option.label}
      title={option.title}
      chosen={own !== undefined && option.path !== "catalog"}
      controlWidth={140}
      message={message}
      severity={severity}
    >
      {({ id, describedBy }) => (
        <Select
          id={id}
          aria-describedby={describedBy}
          value={value}
          options={option.choices.map(([v, label]) => ({ value: v, label }))}
          onChange={(next) =>
            change(
              option.path,
              next === "" || (next === "auto" && option.path !== "catalog") ? undefined : next,
            )
          }
        />
      )}
    </Field>
  );
}

/** The words between commas or spaces; undefined if there are none. */
export function wordsOf(text: string): string[] | undefined {
  const words = text.split(/[\s,]+/).filter(Boolean);
  return words.length > 0 ? words : undefined;
}

/** A word of the spec, or a list of words; an empty field leaves it out. */
export function TextField({ option, spec, findings }: SpecProps & { option: TextOption }) {
  const change = usePlan((state) => state.change);
  // While a list is edited, its separators must not change under the cursor.
  const [draft, setDraft] = useState<string>();
  const own = getIn(spec, option.path);
  const text = Array.isArray(own) ? own.join(", ") : typeof own === "string" ? own : "";
  const { message, severity } = findingAt(findings, option.path);
  const enter = (next: string) => {
    if (!option.list) return change(option.path, next || undefined);
    setDraft(next);
    change(option.path, wordsOf(next));
  };
  return (
    <Field
      label={option.label}
      title={option.title}
      chosen={own !== undefined}
      controlWidth={140}
      message={message}
      severity={severity}
    >
      {({ id, describedBy }) => (
        <TextInput
          id={id}
          aria-describedby={describedBy}
          aria-invalid={message !== undefined && severity === "error"}
          value={draft ?? text}
          maxLength={option.maxLength}
          placeholder={option.none}
          onChange={(event) => enter(event.target.value)}
          onBlur={() => setDraft(undefined)}
        />
      )}
    </Field>
  );
}
