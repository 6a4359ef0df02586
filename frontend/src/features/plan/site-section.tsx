import type { Book, Finding, Part } from "@/api/types";
import { Button } from "@/ui/button";
import { Field, NumberInput, Section, Select } from "@/ui/form";
import { getIn, type Json, type PlanSpec } from "../shared/spec";
import styles from "./params.module.css";
import { usePlan } from "./store";

interface NumberOption {
  path: string;
  label: string;
  unit?: string;
  integer?: boolean;
  step?: number;
  min?: number;
  max?: number;
  title?: string;
  /** Shown where the plan's default is "whatever fits". */
  none?: string;
  /** Shown times 100: a share as a percentage. */
  percent?: boolean;
}

interface ChoiceOption {
  path: string;
  label: string;
  choices: [value: string, label: string][];
  title?: string;
}

const ENCLOSURES: [string, string][] = [
  ["auto", "Automatic"],
  ["container-40ft", "40 ft container"],
  ["container-20ft", "20 ft container"],
  ["custom", "Custom container"],
  ["rows", "Open rows"],
];
const POLICIES: [string, string][] = [
  ["auto", "Automatic"],
  ["bcube-5.2", "BCube §5.2"],
  ["locality", "Locality first"],
  ["side-to-side", "Side to side"],
  ["paired-rows", "Paired rows"],
  ["inter-chassis", "Inter-chassis"],
];

interface Props {
  spec: PlanSpec;
  resolved: PlanSpec | undefined;
  findings: Finding[];
}

export function SiteSections({
  spec,
  resolved,
  findings,
  racks,
  books,
  pin,
}: Props & { racks: Part[]; books: Book[]; pin: number | null }) {
  const enclosure = String(getIn(spec, "site.enclosure") ?? "auto");
  const custom = enclosure === "custom";
  const rows = enclosure === "rows";
  const takeLatestPrices = usePlan((state) => state.takeLatestPrices);
  const bookName = getIn(spec, "catalog") ?? (resolved && getIn(resolved, "catalog"));
  const book = books.find((b) => b.book === bookName);
  const subways = spec.topology.family === "subways";
  const numbers = (options: (NumberOption | false)[]) =>
    options
      .filter((option) => option !== false)
      .map((option) => <NumberOptionField key={option.path} {...{ option, spec, resolved, findings }} />);
  const choice = (option: ChoiceOption) => (
    <ChoiceField key={option.path} {...{ option, spec, resolved, findings }} />
  );

  return (
    <>
      <Section title="Site">
        {choice({ path: "site.enclosure", label: "Enclosure", choices: ENCLOSURES })}
        {numbers([
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
        ])}
        {racks.length > 0 &&
          choice({
            path: "site.rack",
            label: "Rack",
            choices: [
              ["", "Book's default"],
              ...racks.map((r): [string, string] => [r.sku, r.name || r.sku]),
            ],
          })}
        {numbers([
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
        ])}
      </Section>
      <Section title="Packaging">
        {choice({ path: "packaging.policy", label: "Policy", choices: POLICIES })}
        {numbers([
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
            label: "Logical racks a rack",
            integer: true,
            min: 1,
            max: 16,
            none: "fit",
          },
        ])}
        {choice({
          path: "packaging.face",
          label: "Ports face",
          choices: [
            ["front", "Front"],
            ["rear", "Rear"],
          ],
        })}
      </Section>
      <Section title="Cables and prices">
        {numbers([
          { path: "cabling.slack_metres", label: "Slack", unit: "m", step: 0.1, min: 0, max: 20 },
          {
            path: "cabling.tray_fill_limit",
            label: "Tray fill limit",
            unit: "%",
            step: 5,
            min: 5,
            max: 100,
            percent: true,
          },
          {
            path: "cabling.spare_ratio",
            label: "Spares",
            unit: "%",
            step: 1,
            min: 0,
            max: 100,
            percent: true,
          },
          {
            path: "cabling.link_gbps",
            label: "Link rate",
            unit: "Gb",
            step: 1,
            min: 0.1,
            none: "own",
            title: "Overrides the topology's rates when cables are chosen",
          },
        ])}
        {choice({
          path: "cabling.media",
          label: "Medium",
          choices: [
            ["auto", "By rate and reach"],
            ["cat6", "Cat 6"],
            ["dac", "DAC"],
            ["aoc", "AOC"],
            ["fibre", "Fibre"],
          ],
        })}
        {choice({
          path: "cabling.stock",
          label: "Lengths",
          choices: [
            ["stock", "Ready-made"],
            ["bulk", "Cut from bulk"],
          ],
        })}
        {books.length > 0 &&
          choice({
            path: "catalog",
            label: "Price book",
            choices: books.map((b): [string, string] => [b.book, b.title]),
          })}
        {pin !== null && book && book.latest_version > pin && (
          <p className={styles.pinned}>
            Keeps the prices of version {pin}; version {book.latest_version} is out.{" "}
            <Button look="link" onClick={takeLatestPrices}>
              Use version {book.latest_version}
            </Button>
          </p>
        )}
      </Section>
    </>
  );
}

function findingAt(findings: Finding[], path: string) {
  const finding = findings.find((f) => f.severity !== "info" && f.where === path);
  return {
    message: finding && (finding.hint ? `${finding.message} ${finding.hint}` : finding.message),
    severity: finding?.severity === "warning" ? ("warning" as const) : ("error" as const),
  };
}

const times = (value: Json | undefined, by: number) =>
  typeof value === "number" ? Number((value * by).toPrecision(12)) : null;

function NumberOptionField({ option, spec, resolved, findings }: Props & { option: NumberOption }) {
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

function ChoiceField({ option, spec, resolved, findings }: Props & { option: ChoiceOption }) {
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
