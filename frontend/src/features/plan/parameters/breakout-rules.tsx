/**
 * Levels whose links share breakout cables: the level, the number of links of a cable, and the
 * switch with the single plug.
 */
import { getIn, isObject, type Json, type PlanSpec } from "@/shared/plans/spec";
import { Button, IconButton } from "@/ui/button";
import { Field, Select } from "@/ui/form";
import { usePlan } from "../state/store";
import styles from "./cabling-section.module.css";
import type { SpecProps } from "./option-fields";

const PATH = "cabling.breakouts";
/** The levels of networks that support breakouts: networks with more tiers have none. */
const LEVELS = [0, 1, 2, 3, 4];
const LINKS = [2, 4, 8];
const TRUNKS = [
  { value: "upper", label: "Upper switch" },
  { value: "lower", label: "Lower switch" },
];

interface Rule {
  level: number;
  links: number;
  trunk: string;
}

export function rulesOf(spec: PlanSpec): Rule[] {
  const list = getIn(spec, PATH);
  return (Array.isArray(list) ? list : []).filter(isObject).map(({ level, links, trunk }) => ({
    level: Number(level ?? 0),
    links: Number(links ?? 4),
    trunk: String(trunk ?? "upper"),
  }));
}

/** The level of a new rule: the first level without a rule. */
const freeLevel = (rules: readonly Rule[]): number =>
  LEVELS.find((level) => rules.every((rule) => rule.level !== level)) ?? 0;

const withOwn = (options: readonly number[], own: number) =>
  (options.includes(own) ? options : [...options, own]).map((item) => ({
    value: String(item),
    label: String(item),
  }));

export function BreakoutRules({ spec, findings }: SpecProps) {
  const change = usePlan((state) => state.change);
  const rules = rulesOf(spec);
  const write = (next: readonly Rule[]) =>
    change(PATH, next.length === 0 ? undefined : (next as unknown as Json));
  const set = (at: number, some: Partial<Rule>) =>
    write(rules.map((rule, i) => (i === at ? { ...rule, ...some } : rule)));
  return (
    <Field
      label="Breakout cables"
      title="One plug at a switch, split into several links: a port of 100G into four of 25G"
      chosen={rules.length > 0}
      message={
        findings.find((finding) => finding.severity !== "info" && finding.where?.startsWith(PATH))?.message
      }
      severity="error"
    >
      {({ id, describedBy }) => (
        <div className={styles.rules}>
          {rules.map((rule, at) => (
            <fieldset key={at} className={styles.rule} aria-label={`Breakout cables ${at + 1}`}>
              <Select
                aria-label="Level"
                value={String(rule.level)}
                options={withOwn(LEVELS, rule.level).map(({ value }) => ({ value, label: `Level ${value}` }))}
                onChange={(level) => set(at, { level: Number(level) })}
              />
              <Select
                aria-label="Links to a cable"
                value={String(rule.links)}
                options={withOwn(LINKS, rule.links).map(({ value }) => ({ value, label: `${value} links` }))}
                onChange={(links) => set(at, { links: Number(links) })}
              />
              <Select
                aria-label="Plug at"
                value={rule.trunk}
                options={TRUNKS}
                onChange={(trunk) => set(at, { trunk })}
              />
              <IconButton
                small
                icon="close"
                label={`Remove breakout cables ${at + 1}`}
                onClick={() => write(rules.filter((_, i) => i !== at))}
              />
            </fieldset>
          ))}
          {rules.length < LEVELS.length && (
            <Button
              id={id}
              aria-describedby={describedBy}
              small
              icon="plus"
              onClick={() => write([...rules, { level: freeLevel(rules), links: 4, trunk: "upper" }])}
            >
              Add breakout
            </Button>
          )}
        </div>
      )}
    </Field>
  );
}
