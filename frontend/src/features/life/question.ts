/** The form's values, and the question that they make. */
import type { Finding, LifeQuestion } from "@/api/types";

export const UNITS = ["server", "switch", "cable", "pdu"] as const;
export type UnitKind = (typeof UNITS)[number];
export const UNIT_NAMES: Record<UnitKind, string> = {
  server: "Servers",
  switch: "Switches",
  cable: "Cables",
  pdu: "PDUs",
};

export interface Values {
  years: number;
  seeds: number;
  /** Multiplies all failure rates. */
  factor: number;
  shape: number;
  /** Months between visits; null: no such policy. */
  visits: number | null;
  /** Percent of servers below which a visit is called; null: no such policy. */
  below: number | null;
  /** Whether visits with a kit are compared too. */
  kit: boolean;
  spares: Record<UnitKind, number>;
  floorServers: number;
  floorAbt: number;
  visitPrice: number | null;
  /** Percent a year, of parts whose rate was changed. */
  rates: Record<string, number>;
}

export const initial = (): Values => ({
  years: 5,
  seeds: 200,
  factor: 1,
  shape: 1,
  visits: 6,
  below: null,
  kit: false,
  spares: { server: 50, switch: 30, cable: 20, pdu: 2 },
  floorServers: 90,
  floorAbt: 50,
  visitPrice: null,
  rates: {},
});

export function questionOf(values: Values, plan: LifeQuestion["plan"]): LifeQuestion {
  const visits = [
    ...(values.visits === null ? [] : [{ visit_months: values.visits }]),
    ...(values.below === null ? [] : [{ visit_below: values.below / 100 }]),
  ];
  const kits = values.kit ? visits.map((visit) => ({ ...visit, spares: values.spares })) : [];
  const rates = Object.entries(values.rates).map(([part, percent]) => [part, percent / 100]);
  return {
    plan,
    years: values.years,
    seeds: values.seeds,
    first_seed: 1,
    step_months: values.years > 10 ? 3 : 1,
    rates: Object.fromEntries(rates),
    rate_factor: values.factor,
    shape: values.shape,
    policies: [{}, ...visits, ...kits],
    floors: { servers: values.floorServers / 100, abt: values.floorAbt / 100 },
    ...(values.visitPrice !== null && { visit_price: values.visitPrice }),
  };
}

/** The error of a field, by the engine's field names. */
export const messageOf = (field: string, findings: readonly Finding[]): string | undefined => {
  const match = findings.find(({ where }) => where === field || where.endsWith(`.${field}`));
  return match && `${match.message} ${match.hint}`;
};
