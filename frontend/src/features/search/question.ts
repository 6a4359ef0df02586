/** The form's values, and the question that they make. */
import type { SearchQuestion } from "@/api/types";

export interface Row {
  id: number;
  metric: string;
  relation: "at_least" | "at_most";
  /** As typed, with its unit. */
  value: string;
}

export interface Values {
  rows: Row[];
  minimise: string;
  /** Empty: one objective only. */
  maximise: string;
  kind: "switch" | "server" | "link";
  percent: number;
  seeds: string;
  enclosure: "container-40ft" | "container-20ft" | "rows";
  /** Families that are left out. */
  without: string[];
}

let next = 0;

export function row(metric: string, relation: Row["relation"], value: string): Row {
  next += 1;
  return { id: next, metric, relation, value };
}

/** A container of 1,500 servers that keeps most of its throughput. */
export const initial = (): Values => ({
  rows: [
    row("servers", "at_least", "1500"),
    row("containers", "at_most", "1"),
    row("abt_degraded", "at_least", "1 Tb/s"),
    row("server_ports", "at_most", "4"),
    row("power", "at_most", "400 kW"),
  ],
  minimise: "cost",
  maximise: "abt_degraded",
  kind: "switch",
  percent: 10,
  seeds: "7",
  enclosure: "container-40ft",
  without: [],
});

export function questionOf(values: Values, families: readonly string[]): SearchQuestion {
  const tried = families.filter((family) => !values.without.includes(family));
  return {
    constraints: values.rows.map((row) => ({ metric: row.metric, [row.relation]: row.value })),
    objectives: [
      { metric: values.minimise, goal: "minimise" },
      ...(values.maximise === "" ? [] : [{ metric: values.maximise, goal: "maximise" }]),
    ],
    failures: {
      kind: values.kind,
      ratio: values.percent / 100,
      seeds: values.seeds
        .split(/[\s,]+/)
        .filter((seed) => seed !== "")
        .map(Number),
    },
    space: values.without.length === 0 ? {} : { families: tried },
    plan: { site: { enclosure: values.enclosure } },
    evaluations: 300,
  };
}

/** The error of a row, by the engine's field names. */
export function messageOf(
  index: number,
  findings: readonly { where: string; message: string; hint: string }[],
) {
  const match = findings.find(({ where }) => where.startsWith(`constraints[${index}]`));
  return match ? `${match.message} ${match.hint}` : undefined;
}
