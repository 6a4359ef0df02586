/**
 * Fault kinds as the engine's catalogue lists them, with the numbers of their parameters in units
 * that people type.
 */
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import type { SelectOption } from "@/ui/form";

type Described = components["schemas"]["FaultKind"];
export type FaultKind = components["schemas"]["Fault"]["kind"];
export type FaultClass = "server" | "switch" | "link";

export interface FaultParameter {
  /** As the API names it. */
  name: string;
  label: string;
  unit: string;
  /** The factor between the typed value and the value that is sent. */
  factor: number;
  /** As typed, as are the limits. */
  otherwise: number;
  minimum: number;
  maximum: number;
}

export interface FaultKindForm {
  kind: FaultKind;
  strikes: FaultClass | "any";
  title: string;
  detail: string;
  parameters: readonly FaultParameter[];
  /** The flow engine predicts its effect; it ignores other kinds. */
  predicted: boolean;
  /** Its target still carries packets, but worse. */
  degrades: boolean;
}

/**
 * How the id of a fault is shown: "F1", "F2", scheduled ones (ids f1, f2) first, then those that
 * were injected by hand (ids l1, l2) in one count with them. "L1" would be a level.
 */
export function faultName(id: string, scheduled: number): string {
  const [, kind, number] = /^([fl])(\d+)$/.exec(id) ?? [];
  if (!number) return id;
  return `F${Number(number) + (kind === "l" ? scheduled : 0)}`;
}

/** The unit that is typed for the catalogue's, and how many of the catalogue's one of it is. */
const TYPED: Readonly<Record<string, { unit: string; factor: number }>> = {
  "bit/s": { unit: "Mb/s", factor: 1e6 },
  s: { unit: "ms", factor: 1e-3 },
  "": { unit: "%", factor: 0.01 },
};

function parameterOf(given: Described["parameters"][number]): FaultParameter {
  const { unit, factor } = TYPED[given.unit] ?? { unit: given.unit, factor: 1 };
  const typed = (value: number) => Number((value / factor).toPrecision(12));
  return {
    name: given.name,
    label: given.title,
    unit,
    factor,
    otherwise: typed(given.default),
    minimum: typed(given.minimum),
    maximum: typed(given.maximum),
  };
}

let catalogue: readonly FaultKindForm[] = [];

/** Takes the engine's catalogue; the routes that name faults load it before they are shown. */
export function setFaultKinds(kinds: readonly Described[]): void {
  catalogue = kinds.map((given) => ({
    kind: given.name as FaultKind,
    strikes: given.target,
    title: given.title,
    detail: given.effect,
    parameters: given.parameters.map(parameterOf),
    predicted: given.predicted,
    degrades: given.carries,
  }));
}

/** Loads the catalogue once: it changes only with the program. */
export async function loadFaultKinds(): Promise<void> {
  if (catalogue.length === 0) setFaultKinds((await take(api.GET("/api/v1/fault-kinds"))).items);
}

/** The kinds that an engine offers. */
export const kindsOf = (realPackets: boolean): FaultKindForm[] =>
  catalogue.filter(({ predicted }) => realPackets || predicted);

/** The general kind, which can affect any target: the kind of a fault that names none. */
export const generalKind = (): FaultKind => catalogue.find(({ strikes }) => strikes === "any")!.kind;

/**
 * The form of a kind, or of the general kind if a fault names none; a kind missing in the catalogue
 * is shown by its name.
 */
export function faultKind(kind: unknown): FaultKindForm {
  const name = kind ?? generalKind();
  return (
    catalogue.find((form) => form.kind === name) ?? {
      kind: name as FaultKind,
      strikes: "any",
      title: String(name).replaceAll("-", " "),
      detail: "",
      parameters: [],
      predicted: false,
      degrades: false,
    }
  );
}

/** Kinds for a target of this class. */
export const kindsFor = (strikes: FaultClass | null): FaultKindForm[] =>
  catalogue.filter((form) => strikes === null || form.strikes === strikes || form.strikes === "any");

/**
 * Kinds as a menu's options; a kind that the machine cannot inject is disabled, with the reason.
 */
export const kindOptions = (
  kinds: readonly FaultKindForm[],
  missing: components["schemas"]["Machine"]["missing_kinds"] = [],
): SelectOption[] =>
  kinds.map(({ kind, title }) => {
    const lacking = missing.find((fault) => fault.kind === kind);
    return {
      value: kind,
      ...(lacking ? { label: `${title} (${lacking.reason})`, disabled: true } : { label: title }),
    };
  });

/** The fields of faults that hold numbers of a kind. */
export const parameterNames = (): ReadonlySet<string> =>
  new Set(catalogue.flatMap(({ parameters }) => parameters.map(({ name }) => name)));
